// Package waiters wakes those who wait for a namespace to change. It forgets a
// namespace as soon as nobody waits for it.
package waiters

import "sync"

// Waiters are those who wait.
type Waiters struct {
	mu sync.Mutex
	by map[string]*waiting
}

// waiting is a change that somebody waits for.
type waiting struct {
	changed chan struct{}
	who     int
}

// New returns an empty set.
func New() *Waiters { return &Waiters{by: map[string]*waiting{}} }

// Wait returns a channel that is closed at the next change. Whoever no longer
// waits leaves, once: anybody can have a namespace in which nothing ever happens.
func (w *Waiters) Wait(namespace string) (changed <-chan struct{}, leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, ok := w.by[namespace]
	if !ok {
		at = &waiting{changed: make(chan struct{})}
		w.by[namespace] = at
	}
	at.who++
	return at.changed, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if at.who--; at.who == 0 && w.by[namespace] == at {
			delete(w.by, namespace)
		}
	}
}

// Wake tells all who wait for the namespace.
func (w *Waiters) Wake(namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at, ok := w.by[namespace]; ok {
		close(at.changed)
		delete(w.by, namespace)
	}
}
