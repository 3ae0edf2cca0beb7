package segment

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
)

// TermEntry is what the dictionary says of a term.
type TermEntry struct {
	Term string
	DF   uint32 // in how many passages it is
	Best uint8  // its best impact
	// offset is where the postings are in the segment; the rest are lengths.
	offset                     uint64
	directory, docs, positions uint64
}

// termIndex finds the block of the dictionary that may have a term.
type termIndex struct {
	firsts []string
	ends   []uint32 // where each block ends in the section
}

func decodeTermIndex(data []byte, terms, length uint64) (termIndex, error) {
	blocks := (terms + blockTerms - 1) / blockTerms
	if blocks > uint64(len(data)) {
		return termIndex{}, corrupt("the index of terms is too short")
	}
	ix := termIndex{firsts: make([]string, blocks), ends: make([]uint32, blocks)}
	d := decoder{data: data}
	last, end := "", uint64(0)
	for i := range ix.firsts {
		first := last[:d.count(len(last))] + d.text(analyse.MaxTerm)
		end += d.number()
		if d.failed || len(first) > analyse.MaxTerm || i > 0 && first <= last || end > length || end > 1<<32-1 {
			return termIndex{}, corrupt("the index of terms is wrong")
		}
		ix.firsts[i], ix.ends[i] = first, uint32(end)
		last = first
	}
	if d.at != len(data) || end != length {
		return termIndex{}, corrupt("the index of terms does not fit the dictionary")
	}
	return ix, nil
}

// Spend is asked before each block that a walk over terms or postings reads, and ends
// the walk by its error: that the request is over, or that it may do no more work.
type Spend func() error

// termBlock appends the entries of a block of the dictionary. Their terms share one
// string: whoever keeps a few of many clones them.
func (s *Segment) termBlock(block int, out []TermEntry) ([]TermEntry, error) {
	begin := uint32(0)
	if block > 0 {
		begin = s.terms.ends[block-1]
	}
	in, within := s.contents.sections[dictionarySection], s.contents.sections[postingsSection]
	data, err := s.from.slice(in.offset+uint64(begin), uint64(s.terms.ends[block]-begin))
	if err != nil {
		return out, err
	}
	n := blockTerms
	if block == len(s.terms.ends)-1 {
		n = int(s.contents.terms) - block*blockTerms //nolint:gosec // at most 32 by the index
	}
	d := decoder{data: data}
	offset := d.number()
	first := len(out)
	var buffer [512]byte
	text, last := buffer[:0], []byte(nil)
	var ends [blockTerms]int
	for i := range n {
		var e TermEntry
		begin := len(text)
		text = append(text, last[:d.count(len(last))]...)
		text = append(text, d.bytes(d.count(analyse.MaxTerm))...)
		term := text[begin:]
		ends[i] = len(text)
		df := d.number()
		e.Best = d.byte()
		e.directory, e.docs, e.positions = d.number(), d.number(), d.number()
		e.offset = within.offset + offset
		total := e.directory + e.docs + e.positions
		switch {
		case d.failed || len(term) > analyse.MaxTerm || i > 0 && bytes.Compare(term, last) <= 0 ||
			i == 0 && string(term) != s.terms.firsts[block]:
			return out[:first], corrupt("a block of the dictionary is wrong")
		case df == 0 || df > s.contents.passages || offset > within.length ||
			max(e.directory, e.docs, e.positions) > 1<<32-1 || total > within.length-offset:
			return out[:first], corrupt("the dictionary points outside of the postings")
		}
		e.DF = uint32(df) //nolint:gosec // checked above
		offset += total
		last = term
		out = append(out, e)
	}
	if d.at != len(data) || block+1 < len(s.terms.firsts) && string(last) >= s.terms.firsts[block+1] {
		return out[:first], corrupt("a block of the dictionary is too long")
	}
	terms, from := string(text), 0
	for i, end := range ends[:n] {
		out[first+i].Term, from = terms[from:end], end
	}
	return out, nil
}

// Find looks a term up.
func (s *Segment) Find(term string) (TermEntry, bool, error) {
	block, exact := slices.BinarySearch(s.terms.firsts, term)
	if !exact {
		block--
	}
	if block < 0 {
		return TermEntry{}, false, nil
	}
	var buffer [blockTerms]TermEntry
	entries, err := s.termBlock(block, buffer[:0])
	if err != nil {
		return TermEntry{}, false, err
	}
	at, ok := slices.BinarySearchFunc(entries, term, func(e TermEntry, term string) int {
		return cmp.Compare(e.Term, term)
	})
	if !ok {
		return TermEntry{}, false, nil
	}
	return entries[at], true, nil
}

// correctable reports whether typing mistakes are looked for in a term: not in
// numbers and codes, where another digit is another thing, and not in the very
// short.
func correctable(term string) bool {
	return utf8.RuneCountInString(term) >= 4 && !strings.ContainsAny(term, "0123456789")
}

// NearTerm is a term of the dictionary that looks like another.
type NearTerm struct {
	Term     string
	Likeness float64
}

// maxNearBlocks bounds how much of the dictionary is read for one word.
const maxNearBlocks = 256

// Near finds terms that differ from one by a typing mistake or by an ending,
// with their likeness.
func (s *Segment) Near(term string, spend Spend) ([]NearTerm, error) {
	if !correctable(term) {
		return nil, nil
	}
	grams := analyse.AppendGrams(nil, term)
	slices.Sort(grams)
	grams = slices.Compact(grams)
	hits, err := s.gramBlocks(grams, spend)
	if err != nil {
		return nil, err
	}
	// One mistake spoils three trigrams, or four if letters are swapped.
	least := max(len(grams)-6, (len(grams)+2)/3, 1)
	var blocks []int
	for block, n := range hits {
		if int(n) >= least {
			blocks = append(blocks, block)
		}
	}
	slices.SortFunc(blocks, func(a, b int) int { return cmp.Or(cmp.Compare(hits[b], hits[a]), cmp.Compare(a, b)) })
	var out []NearTerm
	var buffer [blockTerms]TermEntry
	for _, block := range blocks[:min(len(blocks), maxNearBlocks)] {
		if err := spend(); err != nil {
			return nil, err
		}
		entries, err := s.termBlock(block, buffer[:0])
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if l := likeness(term, e.Term); l > 0 && e.Term != term && correctable(e.Term) {
				out = append(out, NearTerm{e.Term, l})
			}
		}
	}
	return out, nil
}

// likeness says how likely two terms are the same word, 0 to 1: by the letters
// that were mistyped, or by a long common beginning.
func likeness(a, b string) float64 {
	x, y := utf8.RuneCountInString(a), utf8.RuneCountInString(b)
	if x > y {
		x, y = y, x
	}
	if y-x > 4 || x < 4 {
		return 0
	}
	most := 1
	if x >= 7 {
		most = 2
	}
	if n := analyse.Distance(a, b, most); n <= most {
		return 1 - float64(n)/float64(x)
	}
	shared := utf8.RuneCountInString(a[:commonPrefix(a, b)])
	if shared >= 5 && 3*shared >= 2*y {
		return 0.9 * float64(shared) / float64(y)
	}
	return 0
}
