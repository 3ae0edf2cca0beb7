package lease_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/lease"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var demo = sqldb.Migrations{Service: "demo", FS: fstest.MapFS{
	"0001_first.sql": {Data: []byte(`CREATE TABLE demo_log (who {{text}} NOT NULL, epoch {{int}} NOT NULL) {{table}};`)},
}}

func each(t *testing.T, body func(t *testing.T, db *sqldb.DB)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		body(t, sqldbtest.Migrate(t, open(t), demo))
	})
}

// acquire takes the lease as soon as its last time has run out.
func acquire(t *testing.T, k *lease.Keeper, name string, ttl time.Duration) lease.Lease {
	t.Helper()
	for {
		l, ok, err := k.Acquire(t.Context(), name, ttl)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			return l
		}
	}
}

func writeUnder(ctx context.Context, db *sqldb.DB, l lease.Lease) error {
	return db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if err := l.Guard(ctx, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO demo_log (who, epoch) VALUES ($1, $2)`, l.Holder, l.Epoch)
		return err
	})
}

func logged(t *testing.T, db *sqldb.DB) int {
	t.Helper()
	var n int
	if err := db.Read().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM demo_log`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestOneHolderAtATime(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB) {
		a, b := lease.NewKeeper(db, "a"), lease.NewKeeper(db, "b")
		l := acquire(t, a, "work", time.Hour)
		for _, k := range []*lease.Keeper{a, b} {
			if _, ok, err := k.Acquire(t.Context(), "work", time.Hour); ok || err != nil {
				t.Errorf("second Acquire: %v %v, want held", ok, err)
			}
		}
		if _, ok, err := b.Acquire(t.Context(), "other work", time.Hour); !ok || err != nil {
			t.Errorf("another name: %v %v", ok, err)
		}
		if err := a.Release(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		next, ok, err := b.Acquire(t.Context(), "work", time.Hour)
		if !ok || err != nil {
			t.Fatalf("Acquire after Release: %v %v", ok, err)
		}
		if next.Epoch <= l.Epoch || next.Holder != "b" {
			t.Errorf("next lease %+v after %+v: want a larger epoch", next, l)
		}
	})
}

func TestAPausedHolderCannotWrite(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB) {
		a, b := lease.NewKeeper(db, "a"), lease.NewKeeper(db, "b")
		old := acquire(t, a, "work", time.Millisecond)
		if err := writeUnder(t.Context(), db, old); err != nil {
			t.Fatalf("holder's write: %v", err)
		}
		// a is paused here, for longer than its lease.
		now := acquire(t, b, "work", time.Hour)

		err := writeUnder(t.Context(), db, old)
		if !errors.Is(err, lease.ErrLost) || !fault.Is(err, fault.Conflict) {
			t.Errorf("write of the paused holder: %v, want ErrLost as a conflict", err)
		}
		if _, err := a.Renew(t.Context(), old); !errors.Is(err, lease.ErrLost) {
			t.Errorf("renewal by the paused holder: %v", err)
		}
		if err := a.Release(t.Context(), old); err != nil {
			t.Errorf("release by the paused holder: %v", err)
		}
		if err := writeUnder(t.Context(), db, now); err != nil {
			t.Errorf("the new holder's write: %v", err)
		}
		if n := logged(t, db); n != 2 {
			t.Errorf("%d writes, want 2", n)
		}
	})
}

func TestTheNextHolderSeesAllThatTheLastOneWrote(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB) {
		a, b := lease.NewKeeper(db, "a"), lease.NewKeeper(db, "b")
		for round := range 20 {
			old := acquire(t, a, "work", time.Millisecond)
			var wrote bool
			var seen int
			var wg sync.WaitGroup
			before := logged(t, db)
			wg.Go(func() { // the old holder writes while its lease runs out
				err := writeUnder(t.Context(), db, old)
				if err != nil && !errors.Is(err, lease.ErrLost) {
					t.Errorf("round %d: %v", round, err)
				}
				wrote = err == nil
			})
			var l lease.Lease
			wg.Go(func() {
				l = acquire(t, b, "work", time.Hour)
				seen = logged(t, db)
			})
			wg.Wait()
			if after := logged(t, db); after != seen || wrote != (after > before) {
				t.Fatalf("round %d: the next holder saw %d rows, then there were %d (wrote: %v)", round, seen, after, wrote)
			}
			if err := b.Release(t.Context(), l); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestRenewalKeepsTheEpoch(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB) {
		a := lease.NewKeeper(db, "a")
		l := acquire(t, a, "work", time.Millisecond)
		for range 3 {
			next, err := a.Renew(t.Context(), l) // ended, but nobody took it
			if err != nil {
				t.Fatal(err)
			}
			if next.Epoch != l.Epoch || next.Expires.Before(l.Expires) {
				t.Errorf("renewed to %+v from %+v", next, l)
			}
			l = next
		}
	})
}

func TestForgettingALeaseDoesNotForgetItsEpoch(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB) {
		a, b := lease.NewKeeper(db, "a"), lease.NewKeeper(db, "b")
		old := acquire(t, a, "run 1", time.Millisecond)
		for swept := int64(0); swept == 0; {
			var err error
			if swept, err = b.Sweep(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := writeUnder(t.Context(), db, old); !errors.Is(err, lease.ErrLost) {
			t.Errorf("write under a forgotten lease: %v", err)
		}
		if next := acquire(t, b, "run 1", time.Hour); next.Epoch <= old.Epoch {
			t.Errorf("epoch %d after %d", next.Epoch, old.Epoch)
		}
		if n, err := b.Sweep(t.Context(), 0); n != 0 || err != nil {
			t.Errorf("swept %d live leases (%v)", n, err)
		}
	})
}

func TestOrphansOfACrashEndAtTheNextStart(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB) {
		acquire(t, lease.NewKeeper(db, "process 1"), "work", time.Hour)
		second := lease.NewKeeper(db, "process 2")
		if err := second.Orphans(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, ok, err := second.Acquire(t.Context(), "work", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if want := db.Dialect() == sqldb.SQLite; ok != want {
			t.Errorf("acquired %v, want %v on %s", ok, want, db.Dialect())
		}
	})
}

// bubble opens a database inside a synctest bubble.
func bubble(t *testing.T, dir string, opt sqldb.Options) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(t.Context(), "sqlite:"+filepath.Join(dir, "x.db"), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return sqldbtest.Migrate(t, db, demo)
}

func TestRunRenewsUntilTheWorkIsDone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		db := bubble(t, dir, sqldb.Options{})
		a, b := lease.NewKeeper(db, "a"), lease.NewKeeper(db, "b")
		boom := errors.New("boom")
		err := a.Run(t.Context(), "work", 9*time.Second, func(ctx context.Context, l lease.Lease) error {
			time.Sleep(time.Minute)
			if _, ok, err := b.Acquire(ctx, "work", time.Second); ok || err != nil {
				t.Errorf("taken over from a live holder: %v %v", ok, err)
			}
			if err := writeUnder(ctx, db, l); err != nil {
				t.Error(err)
			}
			return boom
		})
		if !errors.Is(err, boom) {
			t.Errorf("Run: %v", err)
		}
		if _, ok, err := b.Acquire(t.Context(), "work", time.Second); !ok || err != nil {
			t.Errorf("after Run the lease is not free: %v %v", ok, err)
		}
	})
}

func TestRunWaitsForADeadHolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		db := bubble(t, dir, sqldb.Options{})
		start := time.Now()
		acquire(t, lease.NewKeeper(db, "dead"), "work", 10*time.Second)
		err := lease.NewKeeper(db, "a").Run(t.Context(), "work", 6*time.Second, func(context.Context, lease.Lease) error {
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(start); waited < 10*time.Second || waited > 13*time.Second {
			t.Errorf("waited %s for a lease of 10s", waited)
		}
	})
}

func TestWorkEndsWhenTheLeaseCannotBeRenewed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var b sqldbtest.Breaker
		db := bubble(t, dir, sqldb.Options{Fault: b.Fault})
		start := time.Now()
		err := lease.NewKeeper(db, "a").Run(t.Context(), "work", 9*time.Second,
			func(ctx context.Context, _ lease.Lease) error {
				b.Break()
				<-ctx.Done()
				if !errors.Is(context.Cause(ctx), lease.ErrLost) {
					t.Errorf("cause %v", context.Cause(ctx))
				}
				return nil
			})
		if !errors.Is(err, lease.ErrLost) {
			t.Errorf("Run: %v, want ErrLost", err)
		}
		if took := time.Since(start); took > 9*time.Second {
			t.Errorf("worked on for %s under a lease of 9s", took)
		}
	})
}

// Whether a commit succeeded is awaited for longer than a lease lasts. Whoever
// works under it does not go on so long: somebody else may have begun.
func TestWorkEndsWhenARenewalIsNotAnswered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var silent atomic.Bool
		db := bubble(t, dir, sqldb.Options{Fault: func(s sqldb.Stage) error {
			if s == sqldb.StageCommit && silent.Load() {
				time.Sleep(30 * time.Second)
			}
			return nil
		}})
		var took time.Duration
		err := lease.NewKeeper(db, "a").Run(t.Context(), "work", 9*time.Second,
			func(ctx context.Context, _ lease.Lease) error {
				start := time.Now()
				silent.Store(true)
				<-ctx.Done()
				silent.Store(false)
				took = time.Since(start)
				if !errors.Is(context.Cause(ctx), lease.ErrLost) {
					t.Errorf("cause %v", context.Cause(ctx))
				}
				return nil
			})
		if !errors.Is(err, lease.ErrLost) {
			t.Errorf("Run: %v, want ErrLost", err)
		}
		if took > 9*time.Second {
			t.Errorf("worked on for %s under a lease of 9s", took)
		}
	})
}

func TestAShortOutageDoesNotEndTheWork(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var b sqldbtest.Breaker
		db := bubble(t, dir, sqldb.Options{Fault: b.Fault})
		err := lease.NewKeeper(db, "a").Run(t.Context(), "work", 9*time.Second,
			func(ctx context.Context, l lease.Lease) error {
				b.BreakFor(5 * time.Second)
				time.Sleep(30 * time.Second)
				return writeUnder(ctx, db, l)
			})
		if err != nil {
			t.Error(err)
		}
	})
}

// A clock that was wrong for a while must not silence a task until its time comes.
func TestATaskThatWasDoneInTheFutureIsDoneAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		db := bubble(t, dir, sqldb.Options{})
		for _, c := range []struct {
			name  string
			ahead time.Duration
			runs  bool
		}{{"years", 5 * 365 * 24 * time.Hour, true}, {"minutes", 30 * time.Minute, false}} {
			slot := time.Now().Add(c.ahead).UnixMilli() / time.Minute.Milliseconds()
			err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
				_, err := tx.ExecContext(ctx, `INSERT INTO platform_slots (name, slot) VALUES ($1, $2)`, c.name, slot)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			ran := 0
			_ = lease.NewKeeper(db, "a").Every(ctx, c.name, time.Minute, func(context.Context, lease.Lease) error {
				ran++
				return nil
			})
			cancel()
			if c.runs && (ran < 9 || ran > 11) || !c.runs && ran > 0 {
				t.Errorf("a mark that is %s ahead: it ran %d times in ten minutes", c.name, ran)
			}
		}
	})
}

func TestEveryPeriodRunsOnceInAFleet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		db := bubble(t, dir, sqldb.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		runs := schedule(ctx, t, []*sqldb.DB{db, db, db}, time.Minute, func() { time.Sleep(20 * time.Second) })
		if len(runs) < 9 || len(runs) > 11 {
			t.Errorf("%d periods in ten minutes", len(runs))
		}
	})
}

func TestEveryPeriodRunsOnceOnBothEngines(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), demo)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var done atomic.Int32
		runs := schedule(ctx, t, []*sqldb.DB{db, db, db}, 20*time.Millisecond, func() {
			if done.Add(1) == 8 {
				cancel()
			}
		})
		if len(runs) < 7 {
			t.Errorf("%d periods", len(runs))
		}
	})
}

// schedule runs one task on several nodes until ctx ends and returns how often
// each period was begun. It fails the test when a period runs twice or two overlap.
func schedule(ctx context.Context, t *testing.T, nodes []*sqldb.DB, interval time.Duration,
	work func(),
) map[time.Time]int {
	t.Helper()
	var mu sync.Mutex
	var running atomic.Int32
	runs := map[time.Time]int{}
	var wg sync.WaitGroup
	for i, db := range nodes {
		k := lease.NewKeeper(db, string(rune('a'+i)))
		wg.Go(func() {
			err := k.Every(ctx, "task", interval, func(ctx context.Context, _ lease.Lease) error {
				if running.Add(1) > 1 {
					t.Error("two nodes run the task at once")
				}
				defer running.Add(-1)
				mu.Lock()
				runs[lease.Period(ctx)]++
				mu.Unlock()
				work()
				return nil
			})
			if !errors.Is(err, ctx.Err()) {
				t.Errorf("Every: %v", err)
			}
		})
	}
	wg.Wait()
	for period, n := range runs {
		if n != 1 {
			t.Errorf("period %s ran %d times", period, n)
		}
	}
	return runs
}
