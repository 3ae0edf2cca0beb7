package blobtest

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"sync"

	"github.com/castalia-org/castalia/internal/platform/blob"
)

// ErrInjected is what a Faulty store fails with.
var ErrInjected = errors.New("injected failure")

// Plan says how the next operations of a Faulty store fail. The zero value does
// not fail.
type Plan struct {
	// PutAfter makes a Put fail when its body has given that many bytes; negative means never.
	PutAfter int64
	// PutLost makes a Put store the object and then say that it failed.
	PutLost bool
	// GetAfter makes a reader fail after that many bytes; negative means never.
	GetAfter int64
	// GetErr is what such a reader fails with, instead of ErrInjected.
	GetErr error
	// Flip, when not negative, inverts the bit at this position of the object as it is read.
	Flip int64
	// Err makes every operation fail at once.
	Err error
	// Wait, when set, is received from before every operation: a slow store.
	Wait <-chan struct{}
	// Reading, when set, is called before every read of an object, with the context
	// of its Get: it counts work, and may hold it up.
	Reading func(context.Context)
}

// Healthy is the plan that does nothing.
func Healthy() Plan { return Plan{PutAfter: -1, GetAfter: -1, Flip: -1} }

// Faulty wraps a store and fails by its plan.
type Faulty struct {
	blob.Store
	mu   sync.Mutex
	plan Plan
}

// NewFaulty returns a store that does not fail yet.
func NewFaulty(s blob.Store) *Faulty { return &Faulty{Store: s, plan: Healthy()} }

// Set changes the plan.
func (f *Faulty) Set(p Plan) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plan = p
}

func (f *Faulty) begin(ctx context.Context) (Plan, error) {
	f.mu.Lock()
	p := f.plan
	f.mu.Unlock()
	if p.Wait != nil {
		select {
		case <-p.Wait:
		case <-ctx.Done():
			return p, ctx.Err()
		}
	}
	return p, p.Err
}

// Put implements blob.Store.
func (f *Faulty) Put(ctx context.Context, key string, body io.Reader, opt blob.PutOptions) (blob.Info, error) {
	p, err := f.begin(ctx)
	if err != nil {
		return blob.Info{}, err
	}
	if p.PutAfter >= 0 {
		body = &failing{r: body, left: p.PutAfter}
	}
	info, err := f.Store.Put(ctx, key, body, opt)
	if err == nil && p.PutLost {
		return blob.Info{}, ErrInjected
	}
	return info, err
}

// Get implements blob.Store.
func (f *Faulty) Get(ctx context.Context, key string, off, n int64) (io.ReadCloser, error) {
	p, err := f.begin(ctx)
	if err != nil {
		return nil, err
	}
	r, err := f.Store.Get(ctx, key, off, n)
	if err != nil {
		return nil, err
	}
	var src io.Reader = r
	if p.Flip >= 0 {
		src = &flipping{r: src, at: p.Flip - off}
	}
	if p.GetAfter >= 0 {
		src = &failing{r: src, left: p.GetAfter, err: p.GetErr}
	}
	if p.Reading != nil {
		src = &watched{r: src, ctx: ctx, reading: p.Reading}
	}
	return struct {
		io.Reader
		io.Closer
	}{src, r}, nil
}

// Stat implements blob.Store.
func (f *Faulty) Stat(ctx context.Context, key string) (blob.Info, error) {
	if _, err := f.begin(ctx); err != nil {
		return blob.Info{}, err
	}
	return f.Store.Stat(ctx, key)
}

// Delete implements blob.Store.
func (f *Faulty) Delete(ctx context.Context, key string) error {
	if _, err := f.begin(ctx); err != nil {
		return err
	}
	return f.Store.Delete(ctx, key)
}

// List implements blob.Store.
func (f *Faulty) List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error] {
	if _, err := f.begin(ctx); err != nil {
		return func(yield func(blob.Info, error) bool) { yield(blob.Info{}, err) }
	}
	return f.Store.List(ctx, prefix)
}

// Ping implements blob.Store.
func (f *Faulty) Ping(ctx context.Context) error {
	if _, err := f.begin(ctx); err != nil {
		return err
	}
	return f.Store.Ping(ctx)
}

// failing gives left bytes and then an error.
type failing struct {
	r    io.Reader
	left int64
	err  error
}

func (f *failing) Read(p []byte) (int, error) {
	if f.left <= 0 {
		return 0, cmp.Or(f.err, ErrInjected)
	}
	n, err := f.r.Read(p[:min(int64(len(p)), f.left)])
	f.left -= int64(n)
	return n, err
}

// watched tells of every read.
type watched struct {
	r       io.Reader
	ctx     context.Context // the Get's own
	reading func(context.Context)
}

func (w *watched) Read(p []byte) (int, error) {
	w.reading(w.ctx)
	return w.r.Read(p)
}

// flipping inverts one bit.
type flipping struct {
	r  io.Reader
	at int64
}

func (f *flipping) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if f.at >= 0 && f.at < int64(n) {
		p[f.at] ^= 1
	}
	f.at -= int64(n)
	return n, err
}
