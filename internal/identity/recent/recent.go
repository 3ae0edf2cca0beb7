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
	spent int // by the young
}

type entry[V any] struct {
	value V
	until time.Time // zero: for ever
	cost  int
}

// New returns a map whose entries cost about the given budget together, in
// whatever unit Put counts.
func New[K comparable, V any](budget int) *Map[K, V] {
	return &Map[K, V]{half: max(budget/2, 1), young: make(map[K]entry[V])}
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
		m.drop(key)
		ok = false
	}
	if !ok {
		var none V
		return none, false
	}
	return e.value, true
}

// Put remembers the value until the time; the zero time is for ever. What
// costs more than half the budget is not remembered.
func (m *Map[K, V]) Put(key K, value V, until time.Time, cost int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if cost <= m.half {
		m.put(key, entry[V]{value: value, until: until, cost: cost})
	}
}

func (m *Map[K, V]) put(key K, e entry[V]) {
	m.drop(key)
	if m.spent+e.cost > m.half {
		m.old, m.young, m.spent = m.young, make(map[K]entry[V]), 0
	}
	m.young[key] = e
	m.spent += e.cost
}

func (m *Map[K, V]) drop(key K) {
	if e, ok := m.young[key]; ok {
		delete(m.young, key)
		m.spent -= e.cost
	}
}

// Len returns how many entries are held, of which some may have ended.
func (m *Map[K, V]) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.young) + len(m.old)
}
