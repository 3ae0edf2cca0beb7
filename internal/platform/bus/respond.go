package bus

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// Bounds of one responder.
const (
	// RespondParallel is how many requests of one subject a node answers at once.
	RespondParallel = 256
	// RespondTimeout ends the context of a responder that forgot its own limit.
	RespondTimeout = time.Minute
)

// Pool runs a Responder for an implementation: several requests at a time,
// bounded, each with a context that ends with the pool.
type Pool struct {
	fn      Responder
	ctx     context.Context //nolint:containedctx // the life of the pool
	cancel  context.CancelFunc
	places  chan struct{}
	running sync.WaitGroup
	refused atomic.Uint64

	mu     sync.Mutex
	closed bool
}

// NewPool returns a pool in front of fn.
func NewPool(fn Responder) *Pool {
	ctx, cancel := context.WithCancel(context.Background())
	return &Pool{fn: fn, ctx: ctx, cancel: cancel, places: make(chan struct{}, RespondParallel)}
}

// Serve answers one request on a goroutine of its own and hands the answer to
// reply, once.
func (d *Pool) Serve(data []byte, reply func([]byte, error)) {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		reply(nil, ErrClosed)
		return
	}
	select {
	case d.places <- struct{}{}:
		d.running.Add(1)
		d.mu.Unlock()
	default:
		d.mu.Unlock()
		d.refused.Add(1)
		reply(nil, ErrBusy)
		return
	}
	go func() {
		defer d.running.Done()
		defer func() { <-d.places }()
		ctx, cancel := context.WithTimeout(d.ctx, RespondTimeout)
		defer cancel()
		out, err := d.fn(ctx, data)
		if err == nil {
			err = CheckData(out)
		}
		if err != nil {
			reply(nil, Public(err))
			return
		}
		reply(out, nil)
	}()
}

// Refused counts the requests that found no place.
func (d *Pool) Refused() uint64 { return d.refused.Load() }

// Close refuses further requests and cancels those that run.
func (d *Pool) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.cancel()
}

// Wait blocks until no request runs. Call Close first.
func (d *Pool) Wait() { d.running.Wait() }

// Public returns what of a responder's error may reach the requester: kind,
// code and public message.
func Public(err error) *fault.Error {
	f := fault.From(err)
	return fault.New(f.Kind, f.Message).WithCode(f.Code)
}
