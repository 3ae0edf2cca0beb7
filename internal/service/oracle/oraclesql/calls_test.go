package oraclesql_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

func TestCalls(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		oracletest.TestCalls(t, func(t *testing.T) oracletest.CallStore {
			return oraclesql.New(oracletest.Migrated(t, open(t)))
		})
	})
}
