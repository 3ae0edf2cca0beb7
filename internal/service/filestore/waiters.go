package filestore

import "sync"

// waiters wakes those who wait for a namespace to change.
type waiters struct {
	mu sync.Mutex
	by map[string]*waiting
}

// waiting is a change that somebody waits for.
type waiting struct {
	changed chan struct{}
	who     int
}

func newWaiters() *waiters { return &waiters{by: map[string]*waiting{}} }

// wait returns a channel that is closed at the next change. Whoever no longer
// waits leaves, once: anybody can have a namespace in which nothing ever happens.
func (w *waiters) wait(namespace string) (changed <-chan struct{}, leave func()) {
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

func (w *waiters) wake(namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at, ok := w.by[namespace]; ok {
		close(at.changed)
		delete(w.by, namespace)
	}
}

// Wake tells those who wait on this node that a namespace changed elsewhere. It
// is a hint: they look at the store.
func (s *Service) Wake(namespace string) { s.waiters.wake(namespace) }

// changed tells this node and, by the hint, the others.
func (s *Service) changed(namespace string) {
	s.waiters.wake(namespace)
	s.hint(namespace)
}
