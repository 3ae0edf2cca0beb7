package pluginqueue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/castalia-org/castalia/plugin"
)

// Outcome is what became of an item.
type Outcome int

// The outcomes of Handle.
const (
	Finished Outcome = iota + 1
	Postponed
	Failed
	Buried
	// Lost items belong to another worker, or the program stops.
	Lost
)

// Later is the error of work that has to wait and did not fail, such as when a
// service asks for a pause.
func Later(after time.Duration) error { return laterError{after} }

// IsLater reports whether an error is one of Later.
func IsLater(err error) bool { return errors.As(err, new(laterError)) }

type laterError struct{ after time.Duration }

// Error says how long.
func (l laterError) Error() string { return "later, in " + l.after.String() }

// Hopeless is the error of work that no further try can do.
func Hopeless(err error) error { return hopelessError{err} }

type hopelessError struct{ error }

// Unwrap returns the reason.
func (h hopelessError) Unwrap() error { return h.error }

// Finish is what a handler writes together with the end of an item; nil writes
// nothing more.
type Finish func(ctx context.Context, tx plugin.Tx) error

// Handle works on an item that Take returned. The item is renewed while fn
// works, and fn's context ends when it was lost or could not be renewed in time.
// An error of fn decides what becomes of the item: Later postpones it, Hopeless
// buries it, any other counts as a failed try. Handle's own error is trouble with
// the store; the item then comes back by itself.
func (q *Queue) Handle(ctx context.Context, it Item,
	fn func(ctx context.Context, it Item) (Finish, error),
) (Outcome, error) {
	finish, err := q.renewing(ctx, it, fn)
	if ctx.Err() != nil { // the program stops: the next worker need not wait for the lease
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		if err != nil {
			return Lost, ignoreLost(q.Postpone(last, it, 0))
		}
		ctx = last
	}
	var later laterError
	var hopeless hopelessError
	outcome := Finished
	switch {
	case err == nil:
		err = q.Finish(ctx, it, finish)
	case errors.Is(err, ErrLost):
		return Lost, nil
	case errors.As(err, &later):
		outcome, err = Postponed, q.Postpone(ctx, it, later.after)
	case errors.As(err, &hopeless):
		outcome, err = Buried, q.Bury(ctx, it, hopeless.Error())
	default:
		var buried bool
		outcome = Failed
		if buried, err = q.Fail(ctx, it, err.Error()); buried {
			outcome = Buried
		}
	}
	if errors.Is(err, ErrLost) {
		return Lost, nil
	}
	return outcome, err
}

func ignoreLost(err error) error {
	if errors.Is(err, ErrLost) {
		return nil
	}
	return err
}

// renewing runs fn while the item is renewed in time.
func (q *Queue) renewing(ctx context.Context, it Item,
	fn func(ctx context.Context, it Item) (Finish, error),
) (Finish, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var renewal sync.WaitGroup
	defer renewal.Wait()
	defer cancel(nil)
	// Also when the store cannot be asked: somebody else may have the item then.
	late := time.AfterFunc(time.Until(it.until), func() { cancel(ErrLost) })
	defer late.Stop()
	renewal.Go(func() {
		tick := time.NewTicker(q.cfg.Lease / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			began := time.Now()
			switch err := q.Renew(ctx, it); {
			case err == nil:
				late.Reset(time.Until(began.Add(q.cfg.Lease)))
			case errors.Is(err, ErrLost):
				cancel(ErrLost)
				return
			}
		}
	})
	finish, err := safely(ctx, it, fn)
	if err != nil && errors.Is(context.Cause(ctx), ErrLost) {
		return nil, ErrLost
	}
	return finish, err // what was done is noted, unless somebody else has begun
}

// safely makes a panic of fn a failed try: the goroutines of Work are nobody
// else's to guard.
func safely(ctx context.Context, it Item,
	fn func(ctx context.Context, it Item) (Finish, error),
) (finish Finish, err error) {
	defer func() {
		if p := recover(); p != nil {
			finish, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	return fn(ctx, it)
}

// Work takes and handles items until ctx ends, up to parallel at a time. It
// looks when wake says so, and every interval for what others left behind. An
// error of the store ends it, unless items are being handled: to wait for them
// would keep the others waiting too, so it looks again at the next interval.
func (q *Queue) Work(ctx context.Context, parallel int, every time.Duration, wake <-chan struct{},
	fn func(ctx context.Context, it Item) (Finish, error),
) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var busy sync.WaitGroup
	defer busy.Wait()
	used := make(chan struct{}, parallel)
	ended := make(chan error, parallel)
	for {
		if room := parallel - len(used); room > 0 {
			items, err := q.Take(ctx, room)
			if err != nil && ctx.Err() == nil && len(used) == 0 {
				return err
			}
			for _, it := range items {
				used <- struct{}{}
				busy.Go(func() {
					_, err := q.Handle(ctx, it, fn)
					<-used
					select {
					case ended <- err:
					default: // enough have ended for another look
					}
				})
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-wake:
		case <-tick.C:
		case err := <-ended:
			if err != nil && ctx.Err() == nil && len(used) == 0 {
				return err
			}
		}
	}
}
