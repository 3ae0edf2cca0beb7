// Package waiters wakes those who follow the changes of a namespace. It forgets a
// namespace as soon as nobody follows it.
//
// However many follow one, they look a thousand times a second together, or hardly
// more: each change wakes all of them.
package waiters

import (
	"context"
	"sync"
	"time"
)

const (
	// poll is how often a follower looks without having been woken.
	poll = time.Second
	// Where there are more than few followers, each rests before it looks: this long for
	// every one of them.
	few  = 16
	rest = time.Millisecond
)

// Waiters are those who follow.
type Waiters struct {
	mu sync.Mutex
	by map[string]*following
}

// following is a namespace that somebody follows.
type following struct {
	changed chan struct{} // closed at the next change
	who     int
}

// New returns an empty set.
func New() *Waiters { return &Waiters{by: map[string]*following{}} }

// Follower is one who follows a namespace.
type Follower struct {
	of        *Waiters
	namespace string
	in        *following
}

// Follow returns a follower, which is to leave once, when it no longer follows: anybody can
// have a namespace in which nothing ever happens.
func (w *Waiters) Follow(namespace string) *Follower {
	w.mu.Lock()
	defer w.mu.Unlock()
	in, ok := w.by[namespace]
	if !ok {
		in = &following{changed: make(chan struct{})}
		w.by[namespace] = in
	}
	in.who++
	return &Follower{w, namespace, in}
}

// Leave ends it.
func (f *Follower) Leave() {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	if f.in.who--; f.in.who == 0 {
		delete(f.of.by, f.namespace)
	}
}

// Watch is called before looking. What it returns is closed at the next change.
func (f *Follower) Watch() <-chan struct{} {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	return f.in.changed
}

// Await returns when it is time to look again: soon after a change, or after a second
// without one. It fails when ctx ends.
func (f *Follower) Await(ctx context.Context, changed <-chan struct{}) error {
	again := time.NewTimer(poll)
	defer again.Stop()
	select {
	case <-changed:
	case <-again.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	pause := f.pause()
	if pause == 0 {
		return nil
	}
	again.Reset(pause)
	select {
	case <-again.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *Follower) pause() time.Duration {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	if f.in.who <= few {
		return 0
	}
	return time.Duration(f.in.who) * rest
}

// Wake tells all who follow the namespace that it changed.
func (w *Waiters) Wake(namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if in, ok := w.by[namespace]; ok {
		close(in.changed)
		in.changed = make(chan struct{})
	}
}
