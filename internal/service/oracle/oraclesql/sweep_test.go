package oraclesql_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
)

// TestSweepsGoOnUntilNothingIsLeft has more that is over than fits into a slice.
func TestSweepsGoOnUntilNothingIsLeft(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), oraclesql.Migrations())
		st := oraclesql.New(db)
		const slice, all = 10, 25
		now := time.Now().Truncate(time.Millisecond)
		for i := range all {
			err := st.CreateSession(t.Context(), oracle.Session{
				ID: oracle.NewID(), Owner: "did:key:zAda", Title: "Hidden",
				CreatedAt: now, UpdatedAt: now, Expires: now.Add(-time.Hour),
			})
			if err != nil {
				t.Fatal(err)
			}
			err = db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
				_, err := tx.ExecContext(ctx, `INSERT INTO oracle_usage (sponsor, day, messages, cost_micros) VALUES ($1, 1, 1, 1)`, fmt.Sprint("s", i))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := oracle.New(oracle.Deps{Store: st}).DeleteExpired(t.Context(), slice); err != nil {
			t.Fatal(err)
		}
		if left, err := st.Expired(t.Context(), now, all); err != nil || len(left) != 0 {
			t.Errorf("%d sessions are left, %v", len(left), err)
		}
		turns := 1
		for more := true; more; turns++ {
			var err error
			if more, err = st.Sweep(t.Context(), slice); err != nil || turns > all {
				t.Fatalf("turn %d: %v", turns, err)
			}
		}
		var n int
		if err := db.Read().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM oracle_usage`).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d counts are left, %v", n, err)
		}
	})
}
