package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

// addTo adds to a counter that others of the transaction add to.
func addTo(ctx context.Context, tx sqldb.Querier, id string, n int64) error {
	return sqldb.Gather(ctx, tx, sqldb.Gathered{
		Table: "demo_things", Row: id, Sum: []int64{n},
		Join: func(sum, more []int64) { sum[0] += more[0] },
		Write: func(ctx context.Context, tx sqldb.Querier, sum []int64) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO demo_things (id, n) VALUES ($1, $2)
				ON CONFLICT (id) DO UPDATE SET n = demo_things.n + excluded.n`, id, sum[0])
			return err
		},
	})
}

func valueOf(ctx context.Context, from sqldb.Querier, id string) (n int64, err error) {
	return n, from.QueryRowContext(ctx, `SELECT COALESCE(MAX(n), 0) FROM demo_things WHERE id = $1`, id).Scan(&n)
}

// TestWhatIsGatheredAddsUp has many writers add to two counters and take numbers of a feed; some
// look at what they added, some fail afterwards. What was acknowledged is counted, once.
func TestWhatIsGatheredAddsUp(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := things(t, open)
		boom := errors.New("boom")
		var wg sync.WaitGroup
		var mu sync.Mutex
		var numbers []int64
		sums := map[string]int64{}
		for i := range 48 {
			wg.Go(func() {
				id, added, number := fmt.Sprint("sum", i%2), int64(i), int64(0)
				err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) (err error) {
					var before int64
					if i%4 == 3 {
						if before, err = valueOf(ctx, tx, id); err != nil {
							return err
						}
					}
					if err := addTo(ctx, tx, id, added); err != nil {
						return err
					}
					if number, err = sqldb.NextFeed(ctx, tx, "gathered"); err != nil {
						return err
					}
					if i%4 == 3 {
						if now, err := valueOf(ctx, tx, id); err != nil || now != before+added {
							return fmt.Errorf("%s was %d, plus %d is %d: %w", id, before, added, now, err)
						}
					}
					if i%8 == 7 {
						return boom
					}
					return nil
				})
				switch {
				case i%8 == 7 && !errors.Is(err, boom), i%8 != 7 && err != nil:
					t.Errorf("write %d: %v", i, err)
				case err == nil:
					mu.Lock()
					defer mu.Unlock()
					sums[id] += added
					numbers = append(numbers, number)
				}
			})
		}
		wg.Wait()
		for id, want := range sums {
			if got, err := valueOf(t.Context(), db.Read(), id); err != nil || got != want {
				t.Errorf("%s is %d, want %d (%v)", id, got, want, err)
			}
		}
		slices.Sort(numbers)
		for i, n := range numbers {
			if n != int64(i+1) {
				t.Fatalf("numbers of the feed are %v", numbers)
			}
		}
		var last int64
		if err := db.Read().QueryRowContext(t.Context(), `SELECT last FROM platform_feeds WHERE name = 'gathered'`).Scan(&last); err != nil || last != int64(len(numbers)) {
			t.Errorf("the feed is at %d, want %d (%v)", last, len(numbers), err)
		}
	})
}

// TestWhatIsGatheredIsWrittenOnce counts what SQLite is asked to do for writers that share
// commits: two statements for the counter and the feed of all, and one for each of theirs.
func TestWhatIsGatheredIsWrittenOnce(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	db := sqliteThings(t, sqldb.Options{Fault: func(s sqldb.Stage) error {
		if s == sqldb.StageStatement {
			asked.Add(1)
		}
		return nil
	}})
	const n = 64
	before, commits := asked.Load(), db.Stats().Commits
	errs := crowd(t, db, n, func(int) func(context.Context, sqldb.Querier) error {
		return func(ctx context.Context, tx sqldb.Querier) error {
			if err := addTo(ctx, tx, "sum", 1); err != nil {
				return err
			}
			_, err := sqldb.NextFeed(ctx, tx, "gathered")
			return err
		}
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	// Begin, the first number, the counter, the feed, commit; the one that held the writer has less.
	if got, shared := asked.Load()-before, db.Stats().Commits-commits; got > 5*shared {
		t.Errorf("%d writes in %d transactions asked for %d statements", n, shared, got)
	}
	if got, err := valueOf(t.Context(), db.Read(), "sum"); err != nil || got != n {
		t.Errorf("the sum is %d (%v)", got, err)
	}
}

// TestAFailureOfWhatIsGatheredIsEverybodys: nobody is told that it was stored.
func TestAFailureOfWhatIsGatheredIsEverybodys(t *testing.T) {
	t.Parallel()
	db := sqliteThings(t, sqldb.Options{})
	broken := errors.New("broken")
	stored := 0
	for i, err := range crowd(t, db, 32, func(i int) func(context.Context, sqldb.Querier) error {
		return func(ctx context.Context, tx sqldb.Querier) error {
			if i == 7 {
				return sqldb.Gather(ctx, tx, sqldb.Gathered{Table: "nothing", Write: func(context.Context, sqldb.Querier, []int64) error {
					return broken
				}})
			}
			return insert(fmt.Sprint(i))(ctx, tx)
		}
	}) {
		if err == nil {
			stored++
		}
		if i == 7 && !errors.Is(err, broken) || err != nil && !errors.Is(err, broken) {
			t.Errorf("write %d: %v", i, err)
		}
	}
	if got := count(t, db); got != stored {
		t.Errorf("%d rows, and %d writes were acknowledged", got, stored)
	}
	mustWrite(t, db, insert("the writer lives"))
}
