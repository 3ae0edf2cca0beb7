package segment

import (
	"math/bits"
	"strings"
	"sync"
)

// View is a segment without the documents that are gone. It is immutable and
// safe for concurrent use.
type View struct {
	segment *Segment
	gone    Set // nil if nothing is gone
	live    uint32

	mu     sync.Mutex
	counts map[string]uint32 // in how many live passages a term is
}

// Set is a set of passages of a segment; nil is the empty one.
type Set []uint64

// NewSet returns an empty set with place for so many passages.
func NewSet(passages int) Set { return make(Set, (passages+63)/64) }

// Has reports whether a passage is in the set.
func (s Set) Has(p uint32) bool {
	return s != nil && s[p>>6]&(1<<(p&63)) != 0
}

// AddRange adds the passages up to, and without, the last.
func (s Set) AddRange(from, to uint32) {
	for ; from < to && from&63 != 0; from++ {
		s[from>>6] |= 1 << (from & 63)
	}
	for ; from+64 <= to; from += 64 {
		s[from>>6] = ^uint64(0)
	}
	for ; from < to; from++ {
		s[from>>6] |= 1 << (from & 63)
	}
}

// RemoveRange takes passages out, up to and without the last.
func (s Set) RemoveRange(from, to uint32) {
	for ; from < to && from&63 != 0; from++ {
		s[from>>6] &^= 1 << (from & 63)
	}
	for ; from+64 <= to; from += 64 {
		s[from>>6] = 0
	}
	for ; from < to; from++ {
		s[from>>6] &^= 1 << (from & 63)
	}
}

// Size counts the set.
func (s Set) Size() uint32 {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return uint32(n)
}

// Without returns the segment with documents taken out. Names that are not in
// the segment are passed over.
func (s *Segment) Without(documents []string) (*View, error) {
	v := &View{segment: s, live: uint32(s.contents.passages)} //nolint:gosec // at most 2^31
	if len(documents) == 0 {
		return v, nil
	}
	table, err := s.documentTable()
	if err != nil {
		return nil, err
	}
	for _, document := range documents {
		if from, to, ok := table.span(document); ok {
			if v.gone == nil {
				v.gone = NewSet(s.Passages())
				v.counts = make(map[string]uint32)
			}
			v.gone.AddRange(from, to)
		}
	}
	v.live -= v.gone.Size()
	return v, nil
}

// Segment returns what the view is on.
func (v *View) Segment() *Segment { return v.segment }

// Passages counts those that are left.
func (v *View) Passages() int { return int(v.live) }

// maxCounts bounds what a view remembers of terms.
const maxCounts = 1 << 14

// Gone are the passages that were taken out.
func (v *View) Gone() Set { return v.gone }

// Count returns in how many passages that are left a term is. The dictionary's
// number has those that are gone.
func (v *View) Count(e TermEntry, reader *Postings, spend Spend) (uint32, error) {
	if v.gone == nil {
		return e.DF, nil
	}
	v.mu.Lock()
	n, ok := v.counts[e.Term]
	v.mu.Unlock()
	if ok {
		return n, nil
	}
	n, err := v.segment.CountOutside(e, v.gone, reader, spend)
	if err != nil {
		return 0, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.counts) >= maxCounts {
		clear(v.counts)
	}
	v.counts[strings.Clone(e.Term)] = n // it shares memory with its neighbours
	return n, nil
}

// CountOutside counts a term's passages that are not in a set. It reads with the
// memory of a reader, whatever that read before.
func (s *Segment) CountOutside(e TermEntry, set Set, reader *Postings, spend Spend) (uint32, error) {
	if err := spend(); err != nil {
		return 0, err
	}
	if err := reader.open(s.from, e, s.contents.passages); err != nil {
		return 0, err
	}
	n := uint32(0)
	for block := range reader.blocks {
		if err := spend(); err != nil {
			return 0, err
		}
		if err := reader.decode(block); err != nil {
			return 0, err
		}
		for _, doc := range reader.docs[:reader.n] {
			if !set.Has(doc) {
				n++
			}
		}
	}
	return n, nil
}

// Postings opens the postings of a term, before the first.
func (s *Segment) Postings(e TermEntry) (*Postings, error) {
	p := &Postings{}
	if err := p.open(s.from, e, s.contents.passages); err != nil {
		return nil, err
	}
	return p, nil
}
