package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
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

// lineUp holds SQLite's writer until n writes wait behind it, then lets go and
// returns what became of them.
func lineUp(t *testing.T, db *sqldb.DB, n int, write func(i int) error) []error {
	t.Helper()
	var wg sync.WaitGroup
	release := hold(t, db, &wg)
	errs := make([]error, n)
	for i := range errs {
		wg.Go(func() { errs[i] = write(i) })
	}
	for db.Stats().Waiting < n {
		runtime.Gosched()
	}
	release()
	wg.Wait()
	return errs
}

// TestOneStatementCostsOne counts what SQLite is asked to do for statements that
// share commits: themselves, and the beginning and the end of each transaction.
func TestOneStatementCostsOne(t *testing.T) {
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
	errs := lineUp(t, db, n, func(i int) error {
		_, err := db.WriteOne(t.Context(), `INSERT INTO demo_things (id) VALUES ($1)`, fmt.Sprint(i))
		return err
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	got, shared := asked.Load()-before, db.Stats().Commits-commits
	if want := n + 2*shared; got != want {
		t.Errorf("%d statements in %d transactions asked for %d, want %d", n, shared, got, want)
	}
}

// TestAFailedStatementHarmsNoOther puts statements that fail, some after their
// first row, among statements and functions that do not.
func TestAFailedStatementHarmsNoOther(t *testing.T) {
	t.Parallel()
	db := sqliteThings(t, sqldb.Options{})
	mustWrite(t, db, insert("taken"))
	boom := errors.New("boom")
	const n = 80
	errs := lineUp(t, db, n, func(i int) (err error) {
		changed, want := int64(0), int64(0)
		switch id := fmt.Sprint(i); i % 4 {
		case 0:
			want = 1
			changed, err = db.WriteOne(t.Context(), `INSERT INTO demo_things (id) VALUES ($1)`, id)
		case 1:
			changed, err = db.WriteOne(t.Context(), `INSERT INTO demo_things (id) VALUES ($1), ('taken')`, id)
		case 2:
			changed, err = db.WriteOne(t.Context(), `INSERT INTO demo_things (id) VALUES ('taken') ON CONFLICT (id) DO NOTHING`)
		case 3:
			return db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
				return errors.Join(insert(id)(ctx, tx), boom)
			})
		}
		if changed != want {
			t.Errorf("statement %d changed %d rows, want %d", i, changed, want)
		}
		return err
	})
	for i, err := range errs {
		var wrong bool
		switch i % 4 {
		case 0, 2:
			wrong = err != nil
		case 1:
			wrong = !sqldb.IsUnique(err)
		case 3:
			wrong = !errors.Is(err, boom)
		}
		if wrong {
			t.Errorf("write %d: %v", i, err)
		}
	}
	if got, want := count(t, db), 1+n/4; got != want {
		t.Errorf("%d rows, want %d", got, want)
	}
}
