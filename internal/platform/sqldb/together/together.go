// Package together lets writes of one key share a transaction on PostgreSQL.
//
// Writers of one row take turns, and each turn ends with a commit that waits for the
// disk: a hundred a second, however many nodes there are. Here the writes of a key that
// wait while one is under way go together, in the order in which they came, with one
// commit. It promises what sqldb.Write promises: nil means durable, an error that nothing
// of the write is there, or that nobody knows. A write that fails takes itself out:
// those before it go again, then it by itself, then those behind it.
//
// SQLite has one writer, which does this for all writes: there this package only passes
// them on.
//
// Decision: ADR 0269.
package together

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// most is how many writes go together: the first of them waits for all.
const most = 32

// Write is a function that sqldb.Write takes.
type Write func(ctx context.Context, tx sqldb.Querier) error

// Writer joins writes. It is safe for concurrent use.
type Writer struct {
	db    *sqldb.DB
	joins bool

	mu    sync.Mutex
	lanes map[string]*lane
}

// lane is the writes of a key: while somebody works, others wait in it.
type lane struct{ waiting []*job }

// The states of a job.
const (
	waits int32 = iota
	runs
	left // its caller has gone
)

type job struct {
	ctx   context.Context //nolint:containedctx // a job is a call on its way to another goroutine
	fn    Write
	state atomic.Int32
	err   error
	// done is closed when err is known; lead gets one value when the job's caller is to
	// work for those who wait.
	done, lead chan struct{}
}

// New returns a writer on a database.
func New(db *sqldb.DB) *Writer {
	return &Writer{db: db, joins: db.Dialect() == sqldb.Postgres, lanes: map[string]*lane{}}
}

// Apart returns a writer that passes every write on by itself, to measure against.
func Apart(db *sqldb.DB) *Writer { return &Writer{db: db} }

// Write is sqldb.Write for a write that changes rows of a key, which is the name of a feed
// whose numbers it takes. Other writes with that key, of this process, are in the same
// transaction or in another one, never beside it, and nodes take turns.
func (w *Writer) Write(ctx context.Context, key string, fn Write) error {
	if !w.joins {
		return w.db.Write(ctx, fn)
	}
	j := &job{ctx: ctx, fn: fn, done: make(chan struct{}), lead: make(chan struct{}, 1)}
	if w.enter(key, j) {
		w.work(key, j) //nolint:contextcheck // jobs have their callers' contexts
		return j.err
	}
	select {
	case <-j.done:
	case <-j.lead:
		w.work(key, j) //nolint:contextcheck // the same
	case <-ctx.Done():
		if j.state.CompareAndSwap(waits, left) {
			w.depart(key, j)
			return ctx.Err()
		}
		<-j.done // it runs or has run: tell the truth about it
	}
	return j.err
}

// enter puts a job into its lane and reports whether its caller is to work.
func (w *Writer) enter(key string, j *job) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lanes[key]
	if l == nil {
		w.lanes[key] = &lane{}
		return true
	}
	l.waiting = append(l.waiting, j)
	return false
}

// depart passes on the turn of a caller who has gone, if it was that one's.
func (w *Writer) depart(key string, j *job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-j.lead:
		w.next(key)
	default:
	}
}

// next makes the next who waits work, or closes the lane.
func (w *Writer) next(key string) {
	l := w.lanes[key]
	for len(l.waiting) > 0 {
		next := l.waiting[0]
		l.waiting = l.waiting[1:]
		if next.state.Load() == waits {
			next.lead <- struct{}{}
			return
		}
	}
	delete(w.lanes, key)
}

// work does the job and those that wait behind it.
func (w *Writer) work(key string, first *job) {
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.next(key)
	}()
	w.run(key, w.take(key, first))
}

// take returns the jobs that go together, which their callers cannot leave any more.
func (w *Writer) take(key string, first *job) []*job {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lanes[key]
	var batch []*job
	for _, j := range append([]*job{first}, l.waiting[:min(len(l.waiting), most-1)]...) {
		if j.state.CompareAndSwap(waits, runs) {
			batch = append(batch, j)
		}
	}
	l.waiting = l.waiting[min(len(l.waiting), most-1):]
	return batch
}

// failed is a write of a batch that failed.
type failed struct {
	at  int
	err error
}

func (f *failed) Error() string { return f.err.Error() }
func (f *failed) Unwrap() error { return f.err }

// run does jobs in their order, together as long as that goes.
func (w *Writer) run(feed string, batch []*job) {
	for len(batch) > 1 {
		err := w.share(feed, batch)
		one, ok := errors.AsType[*failed](err)
		if !ok || sqldb.IsUnavailable(err) {
			for _, j := range batch {
				j.end(err)
			}
			return
		}
		// Those before it have just done well, and go first. Alone it says by itself why, and
		// gets the retries that are its own. So each runs twice, however many fail.
		w.run(feed, batch[:one.at])
		w.run(feed, batch[one.at:one.at+1])
		batch = batch[one.at+1:]
	}
	for _, j := range batch {
		j.end(w.db.Write(j.ctx, j.fn))
	}
}

// share does jobs in one transaction, or none of them.
func (w *Writer) share(feed string, batch []*job) error {
	ctx := sqldb.InFeedTurn(context.WithoutCancel(batch[0].ctx), feed)
	return w.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		for i, j := range batch {
			if err := w.db.Part(ctx, tx, j.fn); err != nil {
				return &failed{i, err}
			}
		}
		return nil
	})
}

func (j *job) end(err error) {
	j.err = err
	close(j.done)
}
