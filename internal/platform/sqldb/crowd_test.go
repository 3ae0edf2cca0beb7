package sqldb_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/test/testenv"
)

// enter is what an upload into an empty deployment does: it reads, takes a number of its
// owner's feed and stores. Where tables are small, PostgreSQL takes any two of them for a
// conflict, though they touch different rows.
func enter(id, feed string) func(context.Context, sqldb.Querier) error {
	return func(ctx context.Context, tx sqldb.Querier) error {
		for i := range 6 {
			var there int
			row := fmt.Sprint(id, "/", i)
			err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM demo_things WHERE id = $1`, row).Scan(&there)
			if err != nil {
				return err
			}
			if err := insert(row)(ctx, tx); err != nil {
				return err
			}
		}
		if feed == "" {
			return nil
		}
		_, err := sqldb.NextFeed(ctx, tx, feed)
		return err
	}
}

// TestACrowdQueues has many write at once into an empty table, on nodes with the pools that
// they have where they serve people: each gets through.
func TestACrowdQueues(t *testing.T) {
	t.Parallel()
	const crowd = 64
	for name, feed := range map[string]func(i int) string{
		"a feed for each": func(i int) string { return fmt.Sprint("feed of ", i) },
		"one feed":        func(int) string { return "feed of all" },
		"no feed":         func(int) string { return "" },
	} {
		for _, nodes := range []int{1, 3} {
			t.Run(fmt.Sprint(name, ", nodes: ", nodes), func(t *testing.T) {
				t.Parallel()
				address := testenv.Postgres(t)
				fleet := make([]*sqldb.DB, nodes)
				for i := range fleet {
					fleet[i] = sqldbtest.Open(t, address, sqldb.Options{MaxWriters: 16})
				}
				things(t, func(*testing.T) *sqldb.DB { return fleet[0] })
				sqldbtest.Migrate(t, fleet[0], sqldb.Platform())
				begin := make(chan struct{})
				var all sync.WaitGroup
				for i := range crowd {
					all.Go(func() {
						<-begin
						if err := fleet[i%nodes].Write(t.Context(), enter(fmt.Sprint(i), feed(i))); err != nil {
							t.Errorf("write %d: %v", i, err)
						}
					})
				}
				close(begin)
				all.Wait()
				if n := count(t, fleet[0]); n != crowd*6 {
					t.Errorf("%d rows are there, want %d", n, crowd*6)
				}
				for i, db := range fleet {
					t.Logf("node %d: %d tries again for %d writes", i, db.Stats().Retries, db.Stats().Writes)
				}
			})
		}
	}
}
