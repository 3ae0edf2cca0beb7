package sqldb_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

func TestOneStatementComparesAndSets(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := things(t, open)
		if n, err := db.WriteOne(t.Context(), `INSERT INTO demo_things (id) VALUES ($1)`, "a"); err != nil || n != 1 {
			t.Fatalf("insert: %d %v", n, err)
		}
		if _, err := db.WriteOne(t.Context(), `INSERT INTO demo_things (id) VALUES ($1)`, "a"); !sqldb.IsUnique(err) {
			t.Errorf("second insert: %v", err)
		}
		var won atomic.Int64
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				for n := range int64(5) {
					changed, err := db.WriteOne(t.Context(), `UPDATE demo_things SET n = n + 1 WHERE id = $1 AND n = $2`, "a", n)
					if err != nil {
						t.Error(err)
					}
					won.Add(changed)
				}
			})
		}
		wg.Wait()
		var n int64
		if err := db.Read().QueryRowContext(t.Context(), `SELECT n FROM demo_things WHERE id = 'a'`).Scan(&n); err != nil || n != won.Load() || n != 5 {
			t.Errorf("%d updates won and the row says %d (%v), want 5", won.Load(), n, err)
		}
	})
}
