package oraclesql_test

import (
	"context"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

// BenchmarkTurn measures what storing a turn costs, beside one bare insert. The
// two take turns, so that both see the same disk.
func BenchmarkTurn(b *testing.B) {
	db := sqldbtest.SQLite(b)
	st := oraclesql.New(oracletest.Migrated(b, db))
	s := oracletest.NewSession(b, st)
	var bare, turns time.Duration
	for b.Loop() {
		began := time.Now()
		if err := db.Write(b.Context(), func(ctx context.Context, tx sqldb.Querier) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO oracle_plugin_keys (plugin, key, value) VALUES ('b', $1, $2)`, oracle.NewID(), []byte("x"))
			return err
		}); err != nil {
			b.Fatal(err)
		}
		between := time.Now()
		oracletest.Answer(b, st, oracletest.Say(b, st, s.ID, "hi", oracle.Interrupt).Run, "ho")
		bare, turns = bare+between.Sub(began), turns+time.Since(between)
	}
	b.ReportMetric(float64(turns.Microseconds())/float64(b.N), "µs/turn")
	b.ReportMetric(float64(bare.Microseconds())/float64(b.N), "µs/bare-insert")
	b.ReportMetric(float64(turns)/float64(bare), "ratio")
}
