package oraclesql_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		oracletest.TestStore(t, func(t *testing.T) oracletest.Store {
			db := open(t)
			if err := db.Migrate(t.Context(), oraclesql.Migrations()); err != nil {
				t.Fatal(err)
			}
			return oraclesql.New(db)
		})
	})
}
