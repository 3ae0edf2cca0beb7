package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

// maxPending bounds what a run may say while the database is away, in bytes: more
// than the fastest model says before its run is given up for that.
const maxPending = 32 << 20

// gather is how long a first frame waits for company before it is written.
const gather = 2 * time.Millisecond

// errLogFull ends a run that talks faster than the database writes, for long.
var errLogFull = errors.New("the run's log is full")

// Log is the writing end of a run. Frames get their numbers at once, are
// written in batches in the background, and reach readers when they are
// durable. It is safe for concurrent use.
type Log struct {
	store Store
	run   oracle.Run
	ttl   time.Duration
	every time.Duration
	// shown is called with each durable batch, in order.
	shown func(frames []oracle.Frame)
	// stop ends the run's work: with ErrLost, or because of an abort.
	stop func(cause error)

	mu         sync.Mutex
	pending    []oracle.Frame
	size       int // of what is pending
	checkpoint json.RawMessage
	writing    bool // what was taken is on its way to the database
	next       int64
	durable    int64 // the number of the last durable frame
	urgent     bool
	failed     error
	changed    chan struct{}
	kick       chan struct{}
}

func newLog(store Store, r oracle.Run, ttl, every time.Duration, shown func([]oracle.Frame), stop func(error)) *Log {
	return &Log{
		store: store, run: r, ttl: ttl, every: every, shown: shown, stop: stop,
		next: r.NextSeq, durable: r.NextSeq - 1,
		changed: make(chan struct{}), kick: make(chan struct{}, 1),
	}
}

// Emit appends a frame. It fails when the run is lost or its log is full, and
// ends the run's work then: what came after would follow a hole.
func (l *Log) Emit(event string, payload any) error {
	f, err := oracle.NewFrame(event, payload)
	if err != nil {
		return err
	}
	if err = l.append(f); errors.Is(err, errLogFull) {
		l.stop(errLogFull)
	}
	return err
}

func (l *Log) append(f oracle.Frame) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	const each = 64 // beside its data
	if l.size += len(f.Data) + each; l.size > maxPending {
		return errLogFull
	}
	f.Seq = l.next
	l.next++
	l.pending = append(l.pending, f)
	l.wakeWriter()
	return nil
}

// Checkpoint saves what the turn has finished, together with the frames that
// were emitted before.
func (l *Log) Checkpoint(state any) error {
	data, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("encode checkpoint: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	l.checkpoint = data
	l.wakeWriter()
	return nil
}

// Flush waits until everything emitted so far, and the checkpoint, is durable.
// A turn calls it before it does what must not be done twice.
func (l *Log) Flush(ctx context.Context) error {
	l.mu.Lock()
	target := l.next - 1
	l.urgent = true
	l.wakeWriter()
	for {
		if l.failed != nil {
			defer l.mu.Unlock()
			return l.failed
		}
		if l.durable >= target && l.checkpoint == nil && len(l.pending) == 0 && !l.writing {
			l.urgent = false
			l.mu.Unlock()
			return nil
		}
		wait := l.changed
		l.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		l.mu.Lock()
	}
}

func (l *Log) wakeWriter() {
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

// flushLoop writes until quit is closed. A batch that is under way is finished
// first, so that what is left is exactly what was not written.
func (l *Log) flushLoop(ctx context.Context, quit <-chan struct{}) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-quit:
			return
		case <-l.kick:
		}
		// A moment for what follows at once: a short answer is then one write.
		l.mu.Lock()
		urgent := l.urgent
		l.mu.Unlock()
		if !urgent {
			pause.Reset(gather)
			select {
			case <-quit:
				return
			case <-pause.C:
			}
		}
		started := time.Now()
		if err := l.flushOnce(ctx); err != nil {
			l.fail(err)
			return
		}
		l.mu.Lock()
		urgent = l.urgent
		l.mu.Unlock()
		if rest := l.every - time.Since(started); rest > 0 && !urgent {
			pause.Reset(rest)
			select {
			case <-quit:
				return
			case <-pause.C:
			}
		}
	}
}

// flushOnce writes what is pending, and tries again while the database is away.
func (l *Log) flushOnce(ctx context.Context) error {
	b := l.take()
	if len(b.Frames) == 0 && b.Checkpoint == nil {
		return nil
	}
	abort := false
	err := retry(ctx, func() error {
		var err error
		abort, err = l.store.Append(ctx, b)
		return err
	})
	if err != nil {
		return err
	}
	l.landed(b)
	if abort {
		l.stop(errAborted)
	}
	return nil
}

// take removes what is pending.
func (l *Log) take() Batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := Batch{RunID: l.run.ID, Epoch: l.run.Epoch, Frames: l.pending, Checkpoint: l.checkpoint, TTL: l.ttl}
	l.pending, l.checkpoint, l.size = nil, nil, 0
	l.writing = len(b.Frames) > 0 || b.Checkpoint != nil
	return b
}

// untouched reports that nothing but the opening frames is stored. It is for
// the time after the flush loop has ended.
func (l *Log) untouched() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.run.Attempt == 1 && l.durable == l.run.NextSeq-1
}

func (l *Log) landed(b Batch) {
	if len(b.Frames) > 0 {
		l.shown(b.Frames)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writing = false
	if n := len(b.Frames); n > 0 {
		l.durable = b.Frames[n-1].Seq
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *Log) fail(err error) {
	l.mu.Lock()
	l.failed = err
	close(l.changed)
	l.changed = make(chan struct{})
	l.mu.Unlock()
	l.stop(err)
}

// retryFor is how long a write of a run is tried before the run is given up.
const retryFor = 60 * time.Second

// retry runs fn until it succeeds, the lease is lost, or the time is over: whatever
// else is wrong may be over in a minute.
// A fenced write may be repeated safely: frames have primary keys.
func retry(ctx context.Context, fn func() error) error {
	deadline := time.Now().Add(retryFor)
	return pace.Backoff{First: 20 * time.Millisecond, Longest: time.Second}.Retry(ctx, fn, func(err error) bool {
		return !errors.Is(err, ErrLost) && !time.Now().After(deadline)
	})
}
