package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// periodTTL is how long a node that died in the middle of a scheduled task keeps
// others from taking it over.
const periodTTL = 15 * time.Second

// farAhead is how far a clock is set back without anybody calling it wrong.
const farAhead = 24 * time.Hour

// Run waits for the lease, holds it while fn runs, and releases it. It returns
// what fn returns, ErrLost when the lease was lost meanwhile, or ctx's error
// when ctx ended first. fn's context ends when the lease is lost.
func (k *Keeper) Run(ctx context.Context, name string, ttl time.Duration, fn func(context.Context, Lease) error) error {
	for {
		l, ok, err := k.Acquire(ctx, name, ttl)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			k.db.Logger().WarnContext(ctx, "lease cannot be asked for", slog.String("event", "lease.acquire_failed"), slog.String("lease", name), slog.Any("error", err))
		case ok:
			return k.Hold(ctx, l, fn)
		}
		if err := pause(ctx, ttl/3); err != nil {
			return err
		}
	}
}

// Hold keeps renewing a lease that was acquired while fn runs, and releases it
// afterwards. fn's context ends, with ErrLost as its cause, when somebody took
// the lease over or when it could not be renewed in time.
func (k *Keeper) Hold(ctx context.Context, l Lease, fn func(context.Context, Lease) error) error {
	work, cancel := context.WithCancelCause(ctx)
	stop := make(chan struct{})
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		k.keepUp(work, l, stop, cancel)
	}()
	err := func() error {
		defer func() { // also when fn panics: nobody else may wait for the whole time
			close(stop)
			<-renewed
			free, cancelFree := context.WithTimeout(context.WithoutCancel(ctx), l.ttl)
			defer cancelFree()
			if err := k.Release(free, l); err != nil {
				k.db.Logger().WarnContext(ctx, "lease not released", slog.String("event", "lease.release_failed"), slog.String("lease", l.Name), slog.Any("error", err))
			}
			cancel(nil)
		}()
		return fn(work, l)
	}()
	if cause := context.Cause(work); errors.Is(cause, ErrLost) {
		return fmt.Errorf("hold lease %s: %w", l.Name, errors.Join(cause, err))
	}
	return err
}

// keepUp renews the lease three times in its life until stop, and cancels the
// work when that fails for too long.
func (k *Keeper) keepUp(ctx context.Context, l Lease, stop <-chan struct{}, cancel context.CancelCauseFunc) {
	tick := time.NewTimer(l.ttl / 3)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// The outcome of a commit is awaited, which may take longer than the lease.
		late := time.AfterFunc(time.Until(l.until), func() { cancel(fmt.Errorf("%w: it was not renewed in time", ErrLost)) })
		try, done := context.WithDeadline(ctx, l.until)
		next, err := k.Renew(try, l)
		done()
		late.Stop()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			l = next
			tick.Reset(l.ttl / 3)
		case errors.Is(err, ErrLost), !time.Now().Before(l.until):
			cancel(fmt.Errorf("%w: %w", ErrLost, err))
			return
		default:
			k.db.Logger().WarnContext(ctx, "lease not renewed yet", slog.String("event", "lease.renew_failed"),
				slog.String("lease", l.Name), slog.Any("error", err))
			tick.Reset(min(l.ttl/10, time.Until(l.until)))
		}
	}
}

type periodKey struct{}

// Task names the lease under which Every does a task, for those who do it at once.
func Task(name string) string { return "every/" + name }

// Every calls fn once in each period of the database's clock, on one node of
// the fleet, until ctx ends; it returns ctx's error. While fn runs for a period
// no other node runs it. A node that dies in the middle is replaced within the
// same period, or fn waits for the next one. An error of fn is logged, and the
// period counts as done. Periods that nobody was there for are not made up for.
func (k *Keeper) Every(ctx context.Context, name string, interval time.Duration,
	fn func(context.Context, Lease) error,
) error {
	if interval < time.Millisecond {
		return fmt.Errorf("schedule %s: interval %s is too short", name, interval)
	}
	for {
		wait, err := k.period(ctx, name, interval, fn)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			k.db.Logger().WarnContext(ctx, "scheduled task failed", slog.String("event", "task.failed"), slog.String("task", name), slog.Any("error", err))
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}

// period runs the current period's task if nobody has, and returns how long to
// wait before looking again.
func (k *Keeper) period(ctx context.Context, name string, interval time.Duration,
	fn func(context.Context, Lease) error,
) (time.Duration, error) {
	retry := min(interval, periodTTL/3)
	now, err := k.db.Now(ctx)
	if err != nil {
		return retry, err
	}
	n := sqldb.MS(now) / interval.Milliseconds()
	start := sqldb.Time(n * interval.Milliseconds())
	left := start.Add(interval).Sub(now)
	if done, err := k.periodDone(ctx, k.db.Read(), name, n, interval); err != nil || done {
		return min(left, interval), err
	}
	l, ok, err := k.Acquire(ctx, Task(name), periodTTL)
	if err != nil || !ok {
		return min(left, retry), err // look again soon: its holder may have died
	}
	err = k.Hold(ctx, l, func(ctx context.Context, l Lease) error {
		// Between the look and the lease somebody may have done it.
		if done, err := k.periodDone(ctx, k.db.Read(), name, n, interval); err != nil || done {
			return err
		}
		err := fn(context.WithValue(ctx, periodKey{}, start), l)
		if ctx.Err() != nil {
			return err // not done: lost, or the process stops
		}
		return errors.Join(err, k.markPeriod(ctx, l, name, n))
	})
	if later, nowErr := k.db.Now(ctx); nowErr == nil {
		left = start.Add(interval).Sub(later)
	}
	return max(left, 0), err
}

// periodDone reports whether the period, or one that came after it, is done. A
// clock that was set back a little has been there before; what is done far in
// the future, a clock has done that was wrong.
func (k *Keeper) periodDone(ctx context.Context, tx sqldb.Querier, name string, n int64,
	interval time.Duration,
) (bool, error) {
	latest := n + max(1, int64(farAhead/interval))
	var count int
	err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM platform_slots WHERE name = $1 AND slot >= $2 AND slot <= $3`, name, n, latest).Scan(&count)
	if err != nil {
		return false, fmt.Errorf("read schedule %s: %w", name, err)
	}
	return count > 0, nil
}

func (k *Keeper) markPeriod(ctx context.Context, l Lease, name string, n int64) error {
	return k.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if err := l.Guard(ctx, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO platform_slots (name, slot) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET slot = excluded.slot`, name, n)
		return err
	})
}
