package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// TestNoSavepointsWhileAllGoesWell counts what SQLite is asked to do for functions that share
// commits: their own statements, and the beginning and the end of each transaction. Those that
// fail without having written anything cost no more.
func TestNoSavepointsWhileAllGoesWell(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	db := sqliteThings(t, sqldb.Options{Fault: func(s sqldb.Stage) error {
		if s == sqldb.StageStatement {
			asked.Add(1)
		}
		return nil
	}})
	boom := errors.New("boom")
	mustWrite(t, db, insert("taken"))
	const n = 60
	before, commits := asked.Load(), db.Stats().Commits
	errs := crowd(t, db, n, func(i int) func(context.Context, sqldb.Querier) error {
		return func(ctx context.Context, tx sqldb.Querier) error {
			if i%3 == 1 {
				if _, err := tx.ExecContext(ctx, `UPDATE demo_things SET n = 7 WHERE id = 'nobody'`); err != nil {
					return err
				}
				return boom
			}
			var found int
			if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM demo_things WHERE id = $1`, fmt.Sprint(i)).Scan(&found); err != nil {
				return err
			}
			if i%3 == 2 {
				return insert("taken")(ctx, tx)
			}
			return insert(fmt.Sprint(i))(ctx, tx)
		}
	})
	for i, err := range errs {
		if i%3 == 0 && err != nil || i%3 == 1 && !errors.Is(err, boom) || i%3 == 2 && !sqldb.IsUnique(err) {
			t.Errorf("write %d: %v", i, err)
		}
	}
	got, shared := asked.Load()-before, db.Stats().Commits-commits
	// One that fails as the first of a transaction ends it, and the next begins another.
	if least, most := int64(n/3*5), int64(n/3*5)+2*(shared+n/3*2); got < least || got > most {
		t.Errorf("%d functions in %d transactions asked for %d statements, want %d to %d", n, shared, got, least, most)
	}
	if got := count(t, db); got != n/3+1 {
		t.Errorf("%d rows, want %d", got, n/3+1)
	}
}

// TestAFunctionRunsTwiceAtTheMost has many functions fail that have written something: what they
// wrote is gone, what others wrote stays, and nobody pays more than once for it.
func TestAFunctionRunsTwiceAtTheMost(t *testing.T) {
	t.Parallel()
	db := sqliteThings(t, sqldb.Options{})
	boom := errors.New("boom")
	const n = 60
	var runs [n]int // counted by the writer alone
	errs := crowd(t, db, n, func(i int) func(context.Context, sqldb.Querier) error {
		return func(ctx context.Context, tx sqldb.Querier) error {
			runs[i]++
			if err := insert(fmt.Sprint(i))(ctx, tx); err != nil {
				return err
			}
			if i%5 == 4 {
				return boom
			}
			return nil
		}
	})
	stored := 0
	for i, err := range errs {
		if bad := i%5 == 4; bad != errors.Is(err, boom) || !bad && err != nil {
			t.Errorf("write %d: %v", i, err)
		}
		if err == nil {
			stored++
		}
		if runs[i] > 2 {
			t.Errorf("write %d ran %d times", i, runs[i])
		}
	}
	if got := count(t, db); got != stored || got != n/5*4 {
		t.Errorf("%d rows of %d that were acknowledged, want %d", got, stored, n/5*4)
	}
}

// TestAStatementAloneIsDoneAgain puts statements alone beside a function that fails behind them.
func TestAStatementAloneIsDoneAgain(t *testing.T) {
	t.Parallel()
	db := sqliteThings(t, sqldb.Options{})
	boom := errors.New("boom")
	const n = 40
	errs := lineUp(t, db, n, func(i int) error {
		if i%10 == 9 {
			return db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
				return errors.Join(insert(fmt.Sprint(i))(ctx, tx), boom)
			})
		}
		changed, err := db.WriteOne(t.Context(), `INSERT INTO demo_things (id) VALUES ($1)`, fmt.Sprint(i))
		if err == nil && changed != 1 {
			t.Errorf("statement %d changed %d rows", i, changed)
		}
		return err
	})
	for i, err := range errs {
		if bad := i%10 == 9; bad != errors.Is(err, boom) || !bad && err != nil {
			t.Errorf("write %d: %v", i, err)
		}
	}
	if got := count(t, db); got != n/10*9 {
		t.Errorf("%d rows, want %d", got, n/10*9)
	}
}
