package ratelimit

import (
	"context"
	"sync"
)

// Slots lets so many of one key work at a time, and the others of that key wait: for
// work that holds much memory as long as its answer is read. Keys cost nothing while
// nobody of them is here.
type Slots struct {
	each int

	mu   sync.Mutex
	keys map[string]*throng
}

type throng struct {
	taken chan struct{}
	here  int // working or waiting
}

// NewSlots returns Slots of which each key has as many.
func NewSlots(each int) *Slots { return &Slots{each: each, keys: map[string]*throng{}} }

// Take waits for a slot of the key, or until ctx ends. Whoever got one calls leave.
func (s *Slots) Take(ctx context.Context, key string) (leave func(), err error) {
	s.mu.Lock()
	k := s.keys[key]
	if k == nil {
		k = &throng{taken: make(chan struct{}, s.each)}
		s.keys[key] = k
	}
	k.here++
	s.mu.Unlock()
	select {
	case k.taken <- struct{}{}:
		return func() { <-k.taken; s.leave(key, k) }, nil
	case <-ctx.Done():
		s.leave(key, k)
		return nil, context.Cause(ctx)
	}
}

func (s *Slots) leave(key string, k *throng) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k.here--; k.here == 0 {
		delete(s.keys, key)
	}
}

func (s *Slots) waiting(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.keys[key]; k != nil {
		return k.here - len(k.taken)
	}
	return 0
}
