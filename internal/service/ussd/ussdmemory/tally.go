package ussdmemory

import "sync"

// Tally adds up counts until a worker stores them: the hot path writes nothing
// for statistics. A killed process loses at most the last few seconds of them.
type Tally[K comparable] struct {
	mu     sync.Mutex
	counts map[K]int64
}

// maxCounts bounds the tally; a menu has far fewer moves.
const maxCounts = 1 << 16

// NewTally returns an empty tally.
func NewTally[K comparable]() *Tally[K] { return &Tally[K]{counts: map[K]int64{}} }

// Add counts one more.
func (t *Tally[K]) Add(c K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.counts[c]; ok || len(t.counts) < maxCounts {
		t.counts[c]++
	}
}

// Take returns what was counted and begins anew.
func (t *Tally[K]) Take() map[K]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.counts) == 0 {
		return nil
	}
	out := t.counts
	t.counts = make(map[K]int64, len(out))
	return out
}

// GiveBack returns counts that could not be stored.
func (t *Tally[K]) GiveBack(counts map[K]int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c, n := range counts {
		t.counts[c] += n
	}
}
