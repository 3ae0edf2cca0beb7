// Package recent remembers answers for a while, in bounded memory.
//
// A Map holds at most two generations of entries. When the young one is full it
// becomes the old one and the old one is forgotten; what is asked for moves to
// the young one. So what is in use stays, whatever a flood of new keys does to
// the rest, and no entry is ever searched for.
package recent

import (
	"sync"
	"time"
)

// Map remembers values by key. It is safe for concurrent use.
type Map[K comparable, V any] struct {
	half int

	mu    sync.Mutex
	young map[K]entry[V]
	old   map[K]entry[V]
}

type entry[V any] struct {
	value V
	until time.Time // zero: for ever
}

// New returns a map of about the given number of entries at most.
func New[K comparable, V any](entries int) *Map[K, V] {
	return &Map[K, V]{half: max(entries/2, 1), young: make(map[K]entry[V])}
}

// Get returns what is remembered of the key at the time, if anything.
func (m *Map[K, V]) Get(key K, now time.Time) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.young[key]
	if !ok {
		if e, ok = m.old[key]; ok {
			delete(m.old, key)
			m.put(key, e)
		}
	}
	if ok && !e.until.IsZero() && !now.Before(e.until) {
		delete(m.young, key)
		ok = false
	}
	if !ok {
		var none V
		return none, false
	}
	return e.value, true
}

// Put remembers the value until the time; the zero time is for ever.
func (m *Map[K, V]) Put(key K, value V, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(key, entry[V]{value: value, until: until})
}

func (m *Map[K, V]) put(key K, e entry[V]) {
	if len(m.young) >= m.half {
		m.old, m.young = m.young, make(map[K]entry[V])
	}
	m.young[key] = e
}

// Len returns how many entries are held, of which some may have ended.
func (m *Map[K, V]) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.young) + len(m.old)
}
