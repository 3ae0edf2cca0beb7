package segment

import (
	"slices"
	"sort"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
)

// gramBlocks counts how many of the trigrams, each given once, are in each block of
// the dictionary.
func (s *Segment) gramBlocks(grams []analyse.Gram, spend Spend) ([]uint16, error) {
	index, err := s.gramIndex()
	if err != nil {
		return nil, err
	}
	hits := make([]uint16, len(s.terms.ends))
	for _, gram := range grams {
		if err := spend(); err != nil {
			return nil, err
		}
		at, ok := index[gram.String()]
		if !ok {
			continue
		}
		data, err := s.from.slice(at.offset, at.length)
		if err != nil {
			return nil, err
		}
		d := decoder{data: data}
		block := uint64(0)
		for d.at < len(data) && !d.failed {
			block += d.number()
			if block >= uint64(len(hits)) {
				return nil, corrupt("a list of trigrams points outside")
			}
			hits[block]++
		}
	}
	return hits, nil
}

// Terms walks over terms of a dictionary in order, in the memory of one block.
type Terms struct {
	segment    *Segment
	spend      Spend
	block, end int // what is left of the dictionary
	// hits are how many trigrams a block has of least that it needs; nil needs none.
	hits  []uint16
	least uint16
	fits  func(term string) bool // nil lets all

	entries []TermEntry // those that are left of the block that was read
	buffer  [blockTerms]TermEntry
}

// allTerms walks over the whole dictionary.
func (s *Segment) allTerms(spend Spend) *Terms {
	return &Terms{segment: s, spend: spend, end: len(s.terms.ends)}
}

// TermsStarting walks over the terms that begin with a prefix.
func (s *Segment) TermsStarting(prefix string, spend Spend) *Terms {
	firsts := s.terms.firsts
	begin := sort.Search(len(firsts), func(i int) bool { return firsts[i] > prefix })
	length := sort.Search(len(firsts)-begin, func(i int) bool { return !strings.HasPrefix(firsts[begin+i], prefix) })
	return &Terms{
		segment: s, spend: spend, block: max(begin-1, 0), end: begin + length,
		fits: func(term string) bool { return strings.HasPrefix(term, prefix) },
	}
}

// TermsContaining walks over the terms that have a part of three or more characters
// inside them: terms of letters, as trigrams know no others.
func (s *Segment) TermsContaining(part string, spend Spend) (*Terms, error) {
	grams := analyse.AppendGrams(nil, part)
	if len(grams) < 3 {
		return &Terms{}, nil
	}
	grams = grams[1 : len(grams)-1] // the edges are those of the part, not of a term
	slices.Sort(grams)
	grams = slices.Compact(grams)
	hits, err := s.gramBlocks(grams, spend)
	if err != nil {
		return nil, err
	}
	t := s.allTerms(spend)
	t.hits, t.least = hits, uint16(len(grams)) //nolint:gosec // terms are short
	t.fits = func(term string) bool { return correctable(term) && strings.Contains(term, part) }
	return t, nil
}

// Next returns the next term, and false after the last.
func (t *Terms) Next() (TermEntry, bool, error) {
	for {
		for i, e := range t.entries {
			if t.fits == nil || t.fits(e.Term) {
				t.entries = t.entries[i+1:]
				return e, true, nil
			}
		}
		for t.block < t.end && t.hits != nil && t.hits[t.block] < t.least {
			t.block++
		}
		if t.entries = nil; t.block >= t.end {
			return TermEntry{}, false, nil
		}
		if err := t.spend(); err != nil {
			return TermEntry{}, false, err
		}
		var err error
		if t.entries, err = t.segment.termBlock(t.block, t.buffer[:0]); err != nil {
			return TermEntry{}, false, err
		}
		t.block++
	}
}
