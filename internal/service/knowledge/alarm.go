package knowledge

import (
	"context"
	"sync"
	"time"
)

// alarm wakes all workers that sleep.
type alarm struct {
	mu   sync.Mutex
	ring chan struct{}
}

func newAlarm() *alarm { return &alarm{ring: make(chan struct{})} }

// next is closed at the next call of wake. It is taken before one looks for work,
// so that what comes in between is not missed.
func (a *alarm) next() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ring
}

func (a *alarm) wake() {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.ring)
	a.ring = make(chan struct{})
}

// Wake tells the workers of this node to look. It is a hint: they look anyway now
// and then.
func (s *Service) Wake() { s.wake.wake() }

// changed wakes this node and the others.
func (s *Service) changed() {
	s.wake.wake()
	s.Hint()
}

// woken waits for a bell or for a clock, and reports false when ctx ended.
func woken(ctx context.Context, bell, clock <-chan struct{}) bool {
	select {
	case <-ctx.Done():
		return false
	case <-bell:
	case <-clock:
	}
	return true
}

// rest waits for a bell or for the time to pass, and reports false when ctx ended.
func rest(ctx context.Context, bell <-chan struct{}, most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-bell:
	case <-timer.C:
	}
	return true
}
