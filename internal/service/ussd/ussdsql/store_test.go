package ussdsql_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

func TestStoreContract(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		ussdtest.TestStore(t, func(t *testing.T) ussd.Store {
			return ussdsql.New(sqldbtest.Migrate(t, open(t), ussdsql.Migrations()))
		})
	})
}
