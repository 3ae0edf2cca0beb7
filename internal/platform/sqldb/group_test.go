package sqldb_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

// crowd holds SQLite's writer until n functions wait behind it, then lets go
// and returns their errors.
func crowd(t *testing.T, db *sqldb.DB, n int, fn func(i int) func(context.Context, sqldb.Querier) error) []error {
	t.Helper()
	var wg sync.WaitGroup
	release := hold(t, db, &wg) // it may share the batch, and the fate, of those behind it
	errs := make([]error, n)
	for i := range errs {
		wg.Go(func() { errs[i] = db.Write(t.Context(), fn(i)) })
	}
	for db.Stats().Waiting < n {
		runtime.Gosched()
	}
	release()
	wg.Wait()
	return errs
}

func sqliteThings(t *testing.T, opt sqldb.Options) *sqldb.DB {
	t.Helper()
	return things(t, func(t *testing.T) *sqldb.DB { return sqldbtest.Open(t, sqldbtest.SQLiteURL(t), opt) })
}

// hold keeps the writer busy until release is called, so that a test can line
// others up behind it. wg ends with it.
func hold(t *testing.T, db *sqldb.DB, wg *sync.WaitGroup) (release func()) {
	t.Helper()
	entered, released := make(chan struct{}), make(chan struct{})
	wg.Go(func() {
		_ = db.Write(t.Context(), func(context.Context, sqldb.Querier) error {
			close(entered)
			<-released
			return nil
		})
	})
	<-entered
	return func() { close(released) }
}

func TestParallelWritersShareCommits(t *testing.T) {
	t.Parallel()
	db := sqliteThings(t, sqldb.Options{})
	before := db.Stats().Commits
	for i, err := range crowd(t, db, 64, func(i int) func(context.Context, sqldb.Querier) error {
		return insert(fmt.Sprint(i))
	}) {
		if err != nil {
			t.Errorf("write %d: %v", i, err)
		}
	}
	if n := count(t, db); n != 64 {
		t.Errorf("%d rows, want 64", n)
	}
	// One batch if they take less than its time; a slow machine may need a few.
	if commits := db.Stats().Commits - before; commits > 16 {
		t.Errorf("64 parallel writers took %d commits", commits)
	}
}

func TestAFailureInABatchIsItsOwn(t *testing.T) {
	t.Parallel()
	db := sqliteThings(t, sqldb.Options{})
	boom := errors.New("boom")
	errs := crowd(t, db, 60, func(i int) func(context.Context, sqldb.Querier) error {
		return func(ctx context.Context, tx sqldb.Querier) error {
			if err := insert(fmt.Sprint(i))(ctx, tx); err != nil {
				return err
			}
			switch i % 6 {
			case 1:
				return boom
			case 2:
				panic("a mistake")
			case 3:
				_, err := tx.ExecContext(ctx, `INSERT INTO demo_things (id) VALUES ($1)`, fmt.Sprint(i))
				return err // the same key again
			case 4:
				runtime.Goexit() // as t.FailNow does
			}
			return nil
		}
	})
	stored := 0
	for i, err := range errs {
		var wrong bool
		switch i % 6 {
		case 0, 5:
			// Whoever shares a batch with a function that ended the writer's goroutine
			// hears of it, and is not stored.
			wrong = err != nil && !strings.Contains(err.Error(), "goroutine")
			if err == nil {
				stored++
			}
		case 1:
			wrong = !errors.Is(err, boom)
		case 2:
			wrong = err == nil || !strings.Contains(err.Error(), "a mistake")
		case 3:
			wrong = !sqldb.IsUnique(err)
		case 4:
			wrong = err == nil
		}
		if wrong {
			t.Errorf("write %d: %v", i, err)
		}
	}
	if n := count(t, db); n != stored {
		t.Errorf("%d rows, but %d writes were acknowledged", n, stored)
	}
	mustWrite(t, db, insert("the writer lives"))
}

func TestAFailedCommitFailsEveryoneInIt(t *testing.T) {
	t.Parallel()
	var b sqldbtest.Breaker
	db := sqliteThings(t, sqldb.Options{Fault: b.Fault})
	errs := crowd(t, db, 32, func(i int) func(context.Context, sqldb.Querier) error {
		return func(ctx context.Context, tx sqldb.Querier) error {
			if i == 0 {
				b.FailCommits(1_000)
			}
			return insert(fmt.Sprint(i))(ctx, tx)
		}
	})
	b.FailCommits(0)
	stored := 0
	for i, err := range errs {
		switch {
		case err == nil:
			stored++
		case !fault.Is(err, fault.Unavailable):
			t.Errorf("write %d: %v", i, err)
		}
	}
	if n := count(t, db); n != stored || stored == len(errs) {
		t.Errorf("%d rows, %d of %d writes acknowledged", n, stored, len(errs))
	}
	mustWrite(t, db, insert("the writer lives"))
}

func TestAWriteThatWaitsCanBeCancelled(t *testing.T) {
	t.Parallel()
	db := sqliteThings(t, sqldb.Options{MaxQueue: 2})
	var wg sync.WaitGroup
	release := hold(t, db, &wg)
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	for i := range 6 { // two wait in the queue, four for the queue
		waiting.Go(func() {
			if err := db.Write(ctx, insert(fmt.Sprint(i))); !errors.Is(err, context.Canceled) {
				t.Errorf("write %d: %v", i, err)
			}
		})
	}
	for db.Stats().Waiting < 2 {
		runtime.Gosched()
	}
	cancel()
	waiting.Wait() // they return although the writer is still busy
	release()
	wg.Wait()
	if n := count(t, db); n != 0 {
		t.Errorf("%d cancelled writes were stored", n)
	}
	mustWrite(t, db, insert("after"))
}

func TestCloseLetsAcceptedWritesFinish(t *testing.T) {
	t.Parallel()
	url := sqldbtest.SQLiteURL(t)
	db := things(t, func(t *testing.T) *sqldb.DB { return sqldbtest.Open(t, url, sqldb.Options{}) })
	var wg sync.WaitGroup
	release := hold(t, db, &wg)
	errs := make([]error, 20)
	for i := range errs {
		wg.Go(func() { errs[i] = db.Write(t.Context(), insert(fmt.Sprint(i))) })
	}
	for db.Stats().Waiting < len(errs) {
		runtime.Gosched()
	}
	wg.Go(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	release()
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("write %d: %v", i, err)
		}
	}
	again := sqldbtest.Open(t, url, sqldb.Options{})
	if n := count(t, again); n != len(errs) {
		t.Errorf("%d rows after the restart, want %d", n, len(errs))
	}
}

func TestManyDifferentStatements(t *testing.T) {
	t.Parallel()
	db := sqliteThings(t, sqldb.Options{MaxReaders: 1})
	for i := range 1000 { // more than a connection keeps prepared
		var n int
		query := fmt.Sprintf(`SELECT %d + (SELECT COUNT(*) FROM demo_things)`, i)
		if err := db.Read().QueryRowContext(t.Context(), query).Scan(&n); err != nil || n != i {
			t.Fatalf("%s = %d (%v)", query, n, err)
		}
	}
}

func TestASlowFunctionIsNamed(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	db := sqliteThings(t, sqldb.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	mustWrite(t, db, func(context.Context, sqldb.Querier) error {
		<-time.After(110 * time.Millisecond)
		return nil
	})
	if slow := db.Stats().Slow; slow != 1 || !strings.Contains(log.String(), "TestASlowFunctionIsNamed") {
		t.Errorf("%d slow functions, log %q", slow, log.String())
	}
}

// TestLaterWritesLetOthersGoFirst: what is not urgent is written behind what is,
// though it came first, and is written.
func TestLaterWritesLetOthersGoFirst(t *testing.T) {
	t.Parallel()
	db := sqliteThings(t, sqldb.Options{})
	var wg sync.WaitGroup
	release := hold(t, db, &wg)
	const n = 16
	var order []string // written by the writer alone
	enqueue := func(ctx context.Context, kind string, total int) {
		for i := range n {
			wg.Go(func() {
				if err := db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
					order = append(order, kind)
					return insert(kind+fmt.Sprint(i))(ctx, tx)
				}); err != nil {
					t.Error(err)
				}
			})
		}
		for db.Stats().Waiting < total {
			runtime.Gosched()
		}
	}
	enqueue(sqldb.Later(t.Context()), "later", n)
	enqueue(t.Context(), "urgent", 2*n)
	release()
	wg.Wait()
	for i, kind := range order[:n] {
		if kind != "urgent" {
			t.Errorf("place %d has a write that was not urgent: %v", i, order)
			break
		}
	}
	if got := count(t, db); got != 2*n {
		t.Errorf("%d rows, want %d", got, 2*n)
	}
}

// TestLaterWritesKeepCommitsShort: behind a batch in which somebody waited, what is not
// urgent is committed a few at a time, since the next who waits may come at any moment.
func TestLaterWritesKeepCommitsShort(t *testing.T) {
	t.Parallel()
	db := sqliteThings(t, sqldb.Options{})
	var wg sync.WaitGroup
	release := hold(t, db, &wg)
	const n, least = 32, 4
	var commits []int64 // before each, written by the writer alone
	for i := range n {
		wg.Go(func() {
			if err := db.Write(sqldb.Later(t.Context()), func(ctx context.Context, tx sqldb.Querier) error {
				commits = append(commits, db.Stats().Commits)
				for began := time.Now(); time.Since(began) < 400*time.Microsecond; { // so that few of them are a batch
					runtime.Gosched()
				}
				return insert(fmt.Sprint(i))(ctx, tx)
			}); err != nil {
				t.Error(err)
			}
		})
	}
	for db.Stats().Waiting < n {
		runtime.Gosched()
	}
	time.Sleep(15 * time.Millisecond) // longer than a batch lasts: the next has none who waits
	release()
	wg.Wait()
	together := 0
	for _, c := range commits {
		if c == commits[0] {
			together++
		}
	}
	if together > least {
		t.Errorf("the batch behind took %d of them, want at most %d: %v", together, least, commits)
	}
}

// TestLaterWritesDoNotStarve: urgent writes that never cease, and of which each
// fills a batch, let those that are not urgent through all the same.
func TestLaterWritesDoNotStarve(t *testing.T) {
	t.Parallel()
	db := sqliteThings(t, sqldb.Options{})
	var wg sync.WaitGroup
	release := hold(t, db, &wg)
	const writers, bound, end = 8, 16, 200
	var urgent, before atomic.Int64
	var through atomic.Bool
	wg.Go(func() {
		if err := db.Write(sqldb.Later(t.Context()), func(ctx context.Context, tx sqldb.Querier) error {
			before.Store(urgent.Load())
			through.Store(true)
			return insert("later")(ctx, tx)
		}); err != nil {
			t.Error(err)
		}
	})
	for range writers {
		wg.Go(func() {
			for !through.Load() && urgent.Load() < end {
				if err := db.Write(t.Context(), func(context.Context, sqldb.Querier) error {
					urgent.Add(1)
					time.Sleep(15 * time.Millisecond) // longer than a batch lasts
					return nil
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for db.Stats().Waiting < 1+writers {
		runtime.Gosched()
	}
	release()
	wg.Wait()
	if n := before.Load(); n > bound {
		t.Errorf("it was written after %d urgent writes, want at most %d", n, bound)
	}
}
