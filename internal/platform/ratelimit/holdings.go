package ratelimit

import (
	"context"
	"slices"
	"sync"
)

// Holdings bounds how much memory the requests of one key hold together, since answers
// stay until they are read, and how many of them work at a time. More of that key wait,
// first come, first served, and nobody else does. A key costs nothing while it has no
// requests. A nil Holdings bounds nothing.
type Holdings struct {
	bytes int64
	work  *Slots

	mu   sync.Mutex
	keys map[string]*shelf
}

type shelf struct {
	held    int64
	waiting []*wish
}

type wish struct {
	n       int64
	granted chan struct{} // closed
}

// NewHoldings returns Holdings of which each key has so many bytes and workers.
func NewHoldings(bytes int64, workers int) *Holdings {
	return &Holdings{bytes: bytes, work: NewSlots(workers), keys: map[string]*shelf{}}
}

// Begin returns the holding of a request, which holds nothing yet and is left at its end.
func (h *Holdings) Begin(key string) *Holding {
	if h == nil {
		return nil
	}
	return &Holding{of: h, key: key}
}

// Holding is what one request holds. One goroutine uses it.
type Holding struct {
	of  *Holdings
	key string
	n   int64
}

type holdingKey struct{}

// In returns a context that carries the holding to whoever does the work.
func (h *Holding) In(ctx context.Context) context.Context {
	return context.WithValue(ctx, holdingKey{}, h)
}

// HoldingOf returns the holding of a request. Without one, which is the program's own
// work, nothing is counted.
func HoldingOf(ctx context.Context) *Holding {
	h, _ := ctx.Value(holdingKey{}).(*Holding)
	return h
}

// Take waits until there is room for so many bytes, or until ctx ends. It is asked before
// there are any. Whoever wants more than all of it waits for all. A holding that has some
// already gets more at once: two that waited for one another would wait for ever.
func (h *Holding) Take(ctx context.Context, n int64) error {
	if h == nil {
		return nil
	}
	n = min(max(n, 0), h.of.bytes)
	h.of.mu.Lock()
	s := h.of.keys[h.key]
	if s == nil {
		s = &shelf{}
		h.of.keys[h.key] = s
	}
	if h.n > 0 || len(s.waiting) == 0 && s.held+n <= h.of.bytes {
		more := max(n-h.n, 0)
		h.n, s.held = h.n+more, s.held+more
		h.of.settle(h.key, s)
		h.of.mu.Unlock()
		return nil
	}
	w := &wish{n, make(chan struct{})}
	s.waiting = append(s.waiting, w)
	h.of.mu.Unlock()
	select {
	case <-w.granted:
		h.n = n
		return nil
	case <-ctx.Done():
	}
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	if at := slices.Index(s.waiting, w); at >= 0 {
		s.waiting = slices.Delete(s.waiting, at, at+1)
	} else {
		s.held -= n // it was granted meanwhile
	}
	h.of.settle(h.key, s)
	return context.Cause(ctx)
}

// Keep gives back all but so many bytes: what was reserved for the work, once it is known
// what the answer has.
func (h *Holding) Keep(n int64) {
	if h == nil || n >= h.n {
		return
	}
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	s := h.of.keys[h.key]
	s.held -= h.n - max(n, 0)
	h.n = max(n, 0)
	h.of.settle(h.key, s)
}

// Leave gives all of it back.
func (h *Holding) Leave() { h.Keep(0) }

// Work waits until the request may work, or until ctx ends. The caller calls done after
// the work, which is before the answer is read.
func (h *Holding) Work(ctx context.Context) (done func(), err error) {
	if h == nil {
		return func() {}, nil
	}
	return h.of.work.Take(ctx, h.key)
}

// Of returns what the requests of a key hold, and how many of them wait to, or to work.
func (h *Holdings) Of(key string) (held int64, waiting int) {
	waiting = h.work.waiting(key)
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.keys[key]; s != nil {
		held, waiting = s.held, waiting+len(s.waiting)
	}
	return held, waiting
}

// settle lets in those for whom there is room now. Call it with h.mu held.
func (h *Holdings) settle(key string, s *shelf) {
	for len(s.waiting) > 0 && s.held+s.waiting[0].n <= h.bytes {
		s.held += s.waiting[0].n
		close(s.waiting[0].granted)
		s.waiting = s.waiting[1:]
	}
	if s.held == 0 && len(s.waiting) == 0 {
		delete(h.keys, key)
	}
}
