package ussdmemory

import (
	"hash/maphash"
	"sync/atomic"
)

// PhoneFilter says of most telephones without asking the store that nothing is
// known of them: a Bloom filter of one bit array of 2 MiB. Until it was filled
// it says maybe to everything.
type PhoneFilter struct {
	seed  maphash.Seed
	ready atomic.Bool
	bits  []atomic.Uint64
}

const filterWords = 1 << 18 // 16,777,216 bits

// NewPhoneFilter returns a filter that was not filled.
func NewPhoneFilter() *PhoneFilter {
	return &PhoneFilter{seed: maphash.MakeSeed(), bits: make([]atomic.Uint64, filterWords)}
}

func (f *PhoneFilter) places(phone string) [3]uint64 {
	h := maphash.String(f.seed, phone)
	const mask = filterWords*64 - 1
	return [3]uint64{h & mask, (h >> 20) & mask, (h >> 40) & mask}
}

// Add notes that something is known of a telephone.
func (f *PhoneFilter) Add(phone string) {
	for _, at := range f.places(phone) {
		f.bits[at/64].Or(1 << (at % 64))
	}
}

// Maybe reports whether something may be known of a telephone.
func (f *PhoneFilter) Maybe(phone string) bool {
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

// Filled says that the filter has all telephones that anything is known of.
func (f *PhoneFilter) Filled() { f.ready.Store(true) }
