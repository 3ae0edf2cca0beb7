package oraclesql_test

import (
	"context"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

// BenchmarkTurn measures what storing a turn costs, beside one bare insert.
func BenchmarkTurn(b *testing.B) {
	db := sqldbtest.SQLite(b)
	st := oraclesql.New(oracletest.Migrated(b, db))
	b.Run("bare insert", func(b *testing.B) {
		i := 0
		for b.Loop() {
			i++
			if err := db.Write(b.Context(), func(ctx context.Context, tx sqldb.Querier) error {
				_, err := tx.ExecContext(ctx, `INSERT INTO oracle_plugin_keys (plugin, key, value) VALUES ('b', $1, $2) ON CONFLICT DO NOTHING`, oracle.NewID(), []byte("x"))
				return err
			}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("begin and finish", func(b *testing.B) {
		s := oracletest.NewSession(b, st)
		for b.Loop() {
			oracletest.Answer(b, st, oracletest.Say(b, st, s.ID, "hi", oracle.Interrupt).Run, "ho")
		}
	})
}
