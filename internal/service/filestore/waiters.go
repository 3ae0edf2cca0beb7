package filestore

import "sync"

// waiters wakes those who wait for a namespace to change.
type waiters struct {
	mu sync.Mutex
	by map[string]chan struct{}
}

func newWaiters() *waiters { return &waiters{by: map[string]chan struct{}{}} }

// wait returns a channel that is closed at the next change.
func (w *waiters) wait(namespace string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, ok := w.by[namespace]
	if !ok {
		c = make(chan struct{})
		w.by[namespace] = c
	}
	return c
}

func (w *waiters) wake(namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c, ok := w.by[namespace]; ok {
		close(c)
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
