package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// Crew says how a node works on a queue.
type Crew struct {
	// Parallel is how many items are worked on at once, PerLane how many of one
	// lane: a lane whose work hangs leaves room for the others.
	Parallel, PerLane int
	// Every is how often to look for what others added or left behind.
	Every time.Duration
	// Wake, when set, makes it look at once.
	Wake <-chan struct{}
}

// Outcome is what a try came to.
type Outcome struct {
	// Failed items are tried again after Pause; Config.Pause says how long when it
	// is zero. Others are finished.
	Failed bool
	Pause  time.Duration
	// Write, when set, is done in the same transaction.
	Write Write
}

// Work takes items and does them until ctx ends. An error or a panic of do
// counts as a failed try, which is never the last. An error of the database ends
// Work, once nothing is under way.
func (q *Queue) Work(ctx context.Context, c Crew, do func(ctx context.Context, it Item) (Outcome, error)) error {
	if err := q.orphans(ctx); err != nil {
		return err
	}
	w := &work{Queue: q, crew: c, busy: map[string]int{}, ended: make(chan struct{}, 1)}
	defer w.all.Wait()
	clock := q.cfg.Quiet.Sleeper(c.Every)
	defer clock.Stop()
	for {
		clock.Look()
		got, empty, err := w.fill(ctx, do)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if got {
			continue // there may be more
		}
		clock.Rest(empty)
		select {
		case <-ctx.Done():
			return nil
		case <-w.ended:
		case <-c.Wake:
		case <-clock.C:
		}
	}
}

// work is what is under way on this node.
type work struct {
	*Queue
	crew  Crew
	all   sync.WaitGroup
	ended chan struct{}

	counts sync.Mutex
	total  int
	busy   map[string]int
}

func (w *work) count(lane string, by int) {
	w.counts.Lock()
	defer w.counts.Unlock()
	w.total += by
	if w.busy[lane] += by; w.busy[lane] == 0 {
		delete(w.busy, lane)
	}
}

func (w *work) full(lane string) bool {
	w.counts.Lock()
	defer w.counts.Unlock()
	return w.busy[lane] >= max(w.crew.PerLane, 1)
}

// fill starts what there is room for, and reports whether that was anything, or else
// whether the queue is empty.
func (w *work) fill(ctx context.Context, do func(context.Context, Item) (Outcome, error)) (got, empty bool, err error) {
	w.counts.Lock()
	room := w.crew.Parallel - w.total
	w.counts.Unlock()
	if room <= 0 {
		return false, false, nil
	}
	if empty, err = w.isEmpty(ctx); err != nil || empty {
		return false, empty, err
	}
	items, err := w.take(ctx, room, w.full)
	for _, it := range items {
		w.count(it.Lane, 1)
		w.all.Go(func() {
			_ = w.handle(ctx, it, do) // the item comes back when its lease ends
			w.count(it.Lane, -1)
			select {
			case w.ended <- struct{}{}:
			default:
			}
		})
	}
	return len(items) > 0, false, err
}

// lastWord is how long the end of a try may take when the program stops.
const lastWord = 2 * time.Second

// handle does one item and writes down what came of it.
func (q *Queue) handle(ctx context.Context, it Item, do func(context.Context, Item) (Outcome, error)) error {
	out, err := q.renewing(ctx, it, do)
	if errors.Is(err, ErrLost) {
		return err
	}
	if ctx.Err() != nil { // the program stops: the next worker need not wait for the lease
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWord)
		defer cancel()
		ctx = last
		if err != nil {
			return q.Release(ctx, it)
		}
	}
	switch {
	case err != nil:
		return q.Retry(ctx, it, q.cfg.Pause(it.Attempt), nil)
	case out.Failed && out.Pause <= 0:
		return q.Retry(ctx, it, q.cfg.Pause(it.Attempt), out.Write)
	case out.Failed:
		return q.Retry(ctx, it, out.Pause, out.Write)
	}
	return q.Finish(ctx, it, out.Write)
}

// renewing does an item while its lease is renewed, and stops when it was lost.
func (q *Queue) renewing(ctx context.Context, it Item,
	do func(context.Context, Item) (Outcome, error),
) (Outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var renewal sync.WaitGroup
	defer renewal.Wait()
	defer cancel(nil)
	// Also when the database cannot be asked: somebody else may have it then.
	late := time.AfterFunc(time.Until(it.until), func() { cancel(ErrLost) })
	defer late.Stop()
	renewal.Go(func() {
		pace.Every(ctx, q.cfg.Lease/3, func() bool {
			began := time.Now()
			switch err := q.Renew(ctx, it); {
			case err == nil:
				late.Reset(time.Until(began.Add(q.cfg.Lease)))
			case errors.Is(err, ErrLost):
				cancel(ErrLost)
				return false
			}
			return true
		})
	})
	out, err := safely(ctx, it, do)
	if err != nil && errors.Is(context.Cause(ctx), ErrLost) {
		return Outcome{}, ErrLost
	}
	return out, err // what was done is noted, unless somebody else has begun
}

// safely makes a panic a failed try: the goroutines of Work are nobody else's to
// guard.
func safely(ctx context.Context, it Item, do func(context.Context, Item) (Outcome, error)) (out Outcome, err error) {
	err = pace.Guard(func() error {
		out, err = do(ctx, it)
		return err
	})
	return out, err
}

// orphans frees what an earlier process held. A SQLite file belongs to one
// process, so all that is held at the start is; on PostgreSQL the other holders
// are alive, for all one knows, and leases end by themselves.
func (q *Queue) orphans(ctx context.Context) error {
	if q.db.Dialect() != sqldb.SQLite {
		return nil
	}
	now, err := q.db.Now(ctx)
	if err != nil {
		return err
	}
	_, err = q.db.WriteOne(ctx, `UPDATE queue_items SET holder = '', due_ms = $1 WHERE queue = $2 AND holder <> ''`, sqldb.MS(now), q.cfg.Name)
	if err != nil {
		return fmt.Errorf("free orphaned items: %w", err)
	}
	return nil
}
