package ussd

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// tally adds up counts until a worker stores them: the hot path writes nothing
// for statistics. A killed process loses at most the last few seconds of them.
type tally struct {
	mu     sync.Mutex
	counts map[Count]int64
}

// maxCounts bounds the tally; a menu has far fewer moves.
const maxCounts = 1 << 16

func newTally() *tally { return &tally{counts: map[Count]int64{}} }

func (t *tally) add(c Count) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.counts[c]; ok || len(t.counts) < maxCounts {
		t.counts[c]++
	}
}

// take returns what was counted and begins anew.
func (t *tally) take() map[Count]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.counts) == 0 {
		return nil
	}
	out := t.counts
	t.counts = make(map[Count]int64, len(out))
	return out
}

// giveBack returns counts that could not be stored.
func (t *tally) giveBack(counts map[Count]int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c, n := range counts {
		t.counts[c] += n
	}
}

// phoneFilter says of most telephones without asking the store that nothing is
// known of them: a Bloom filter of one bit array of 2 MiB. Until it was filled
// it says maybe to everything.
type phoneFilter struct {
	seed  maphash.Seed
	ready atomic.Bool
	bits  []atomic.Uint64
}

const filterWords = 1 << 18 // 16,777,216 bits

func newPhoneFilter() *phoneFilter {
	return &phoneFilter{seed: maphash.MakeSeed(), bits: make([]atomic.Uint64, filterWords)}
}

func (f *phoneFilter) places(phone string) [3]uint64 {
	h := maphash.String(f.seed, phone)
	const mask = filterWords*64 - 1
	return [3]uint64{h & mask, (h >> 20) & mask, (h >> 40) & mask}
}

func (f *phoneFilter) add(phone string) {
	for _, at := range f.places(phone) {
		f.bits[at/64].Or(1 << (at % 64))
	}
}

func (f *phoneFilter) maybe(phone string) bool {
	if !f.ready.Load() {
		return true
	}
	for _, at := range f.places(phone) {
		if f.bits[at/64].Load()&(1<<(at%64)) == 0 {
			return false
		}
	}
	return true
}
