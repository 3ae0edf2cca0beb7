package segment

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
)

// Builder gathers passages of one collection, in memory, and writes them as one
// segment. It is not for use by several goroutines.
type Builder struct {
	collection string
	passages   []Passage
	keys       map[Key]bool
	size       int

	analyser *analyse.Analyser
	tokens   []analyse.Token
	places   []uint64
	terms    map[string]uint32
	lists    []buildList
}

// buildList are a term's postings in order of arrival: passage (as a
// difference), impact, the length of the positions, and the positions.
type buildList struct {
	last uint32
	data []byte
}

// NewBuilder begins a segment of a collection.
func NewBuilder(collection string) *Builder {
	return &Builder{
		collection: collection, keys: make(map[Key]bool), analyser: analyse.NewAnalyser(), terms: make(map[string]uint32),
	}
}

// Size is how many bytes of text the builder holds.
func (b *Builder) Size() int { return b.size }

// Passages counts what was added.
func (b *Builder) Passages() int { return len(b.passages) }

// Add takes a passage.
func (b *Builder) Add(p Passage) error {
	if b.collection == "" || len(b.collection) > MaxName {
		return fmt.Errorf("%w: its collection's name has %d bytes, allowed are 1 to %d", ErrPassage, len(b.collection), MaxName)
	}
	if err := p.check(); err != nil {
		return err
	}
	key := Key{Document: p.Document, Number: p.Number}
	if b.keys[key] {
		return fmt.Errorf("%w: passage %d of document %q is there twice", ErrPassage, p.Number, p.Document)
	}
	b.keys[key] = true
	if p.Language == "" {
		p.Language = detect(p)
	}
	p.Language = p.Language.Known()
	number := uint32(len(b.passages)) //nolint:gosec // memory ends before
	b.passages = append(b.passages, p)
	b.size += len(p.Text) + len(p.Title) + len(p.Headings)
	b.index(number, p)
	return nil
}

// detect tells a passage's language from its text and, if that is short, from
// all that belongs to it.
func detect(p Passage) analyse.Language {
	if language := analyse.Detect(p.Text); language != analyse.Undetermined {
		return language
	}
	return analyse.Detect(p.Title + "\n" + p.Headings + "\n" + p.Text)
}

// index files a passage under its terms.
func (b *Builder) index(number uint32, p Passage) {
	b.places = b.places[:0]
	var lengths [Fields]int
	for f, text := range [Fields]string{InBody: p.Text, InTitle: p.Title, InHeadings: p.Headings} {
		b.tokens = b.analyser.Tokens(b.tokens[:0], p.Language, text)
		lengths[f] = len(b.tokens)
		for _, t := range b.tokens {
			if t.Stop && Field(f) == InBody {
				continue
			}
			id := b.termOf(t)
			b.places = append(b.places, uint64(id)<<32|uint64(f)<<30|uint64(t.Position)) //nolint:gosec // texts are short
		}
	}
	slices.Sort(b.places)
	for rest := b.places; len(rest) > 0; {
		id := rest[0] >> 32
		n := 1
		for n < len(rest) && rest[n]>>32 == id {
			n++
		}
		b.post(&b.lists[id], number, rest[:n], lengths)
		rest = rest[n:]
	}
}

// termOf returns the list of a token's term. Most words were met before, and the
// analyser has kept the number with them.
func (b *Builder) termOf(t analyse.Token) uint32 {
	if t.Note != nil && *t.Note > 0 {
		return *t.Note - 1
	}
	id, ok := b.terms[t.Term]
	if !ok {
		id = uint32(len(b.lists)) //nolint:gosec // memory ends before
		b.terms[t.Term] = id
		b.lists = append(b.lists, buildList{})
	}
	if t.Note != nil {
		*t.Note = id + 1
	}
	return id
}

// post appends one posting to a list.
func (b *Builder) post(list *buildList, number uint32, at []uint64, lengths [Fields]int) {
	var counts [Fields]int
	var buffer [8]uint32
	var places [Fields][]uint32
	all := buffer[:0]
	for _, place := range at {
		all = append(all, uint32(place&(1<<30-1)))
		counts[place>>30&3]++
	}
	rest := all
	for f, n := range counts {
		places[f], rest = rest[:n], rest[n:]
	}
	list.data = binary.AppendUvarint(list.data, uint64(number-list.last))
	list.last = number
	list.data = append(list.data, impact(counts, lengths))
	var encoded [64]byte
	positions := appendPositions(encoded[:0], places)
	list.data = binary.AppendUvarint(list.data, uint64(len(positions)))
	list.data = append(list.data, positions...)
}

// posting is one entry of a list while it is put in order.
type posting struct {
	passage   uint32
	impact    uint8
	positions []byte
}

// WriteTo writes the segment. The builder can go on afterwards: the next
// segment has all passages again.
func (b *Builder) WriteTo(out io.Writer) (int64, error) {
	w, err := newSegmentWriter(out, b.collection)
	if err != nil {
		return 0, err
	}
	order := make([]uint32, len(b.passages))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(x, y uint32) int {
		return cmp.Or(cmp.Compare(b.passages[x].Document, b.passages[y].Document),
			cmp.Compare(b.passages[x].Number, b.passages[y].Number))
	})
	rank := make([]uint32, len(order))
	for at, from := range order {
		rank[from] = uint32(at)
		if err := w.addPassage(b.passages[from]); err != nil {
			return 0, err
		}
	}
	if err := w.endPassages(); err != nil {
		return 0, err
	}
	var list []posting
	for _, term := range slices.Sorted(maps.Keys(b.terms)) {
		list = b.lists[b.terms[term]].decode(list[:0], rank)
		for _, p := range list {
			w.postings.add(p.passage, p.impact, p.positions)
		}
		if err := w.addTerm(term); err != nil {
			return 0, err
		}
	}
	return w.finish()
}

// decode returns a list in order of the segment's passages.
func (l buildList) decode(out []posting, rank []uint32) []posting {
	d := decoder{data: l.data}
	number := uint64(0)
	sorted := true
	for d.at < len(d.data) {
		number += d.number()
		p := posting{passage: rank[number], impact: d.byte()}
		p.positions = d.bytes(d.count(len(d.data)))
		sorted = sorted && (len(out) == 0 || out[len(out)-1].passage < p.passage)
		out = append(out, p)
	}
	if !sorted {
		slices.SortFunc(out, func(x, y posting) int { return cmp.Compare(x.passage, y.passage) })
	}
	return out
}
