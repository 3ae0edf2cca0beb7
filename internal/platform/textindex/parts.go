package textindex

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/textindex/segment"
)

const (
	// maxParts is how many longer words stand for one: those that most passages have.
	maxParts = 64
	// A longer word weighs from partWeight on, up to partWeight and longestPart as
	// less of it is missing; half of that where the part is inside.
	partWeight  = 96
	longestPart = 96
)

// maxWork is how many blocks of dictionaries and postings the longer words and the
// mistyped ones of one question may cost: some millions of terms.
const maxWork = 1 << 17

// errSpent says that a question has done all the work that it may.
var errSpent = errors.New("the work of the question is spent")

// spend pays for work that what the index has decides on. Work that the words of the
// question decide on ends with the request alone.
func (p *planner) spend(ctx context.Context) segment.Spend {
	return func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if p.left == 0 {
			p.spent = true
			return errSpent
		}
		p.left--
		return nil
	}
}

// addParts adds the words that a part of a word may become, and reports whether there
// are some. All words of the dictionary that fit are looked at, as far as the work of
// the question goes: to stop at the first would let words that the scope has not
// decide which of its own are found.
func (p *planner) addParts(ctx context.Context, g *group) (bool, error) {
	if g.part == "" {
		return false, nil
	}
	spend := p.spend(ctx)
	found, err := p.termsBy(g, spend, func(s *Segment) (*segment.Terms, error) {
		return s.TermsStarting(g.part, spend), nil
	})
	if err != nil {
		return false, err
	}
	weight := int32(partWeight)
	if len(found) == 0 && !g.exact {
		weight /= 2
		found, err = p.termsBy(g, spend, func(s *Segment) (*segment.Terms, error) { return s.TermsContaining(g.part, spend) })
		if err != nil {
			return false, err
		}
	}
	length := utf8.RuneCountInString(g.part)
	for i := range found {
		share := longestPart * length / utf8.RuneCountInString(found[i].term)
		found[i].weight = weight + int32(share)*weight/partWeight //nolint:gosec // below 256
	}
	g.variants = append(g.variants, found...)
	return len(found) > 0, nil
}

// termsBy returns the terms of all views that most passages of the scope have, without
// those of the group. When the work is spent, these are the best of those before.
func (p *planner) termsBy(g *group, spend segment.Spend,
	walk func(*Segment) (*segment.Terms, error),
) ([]variant, error) {
	var best commonest
	err := p.eachTerm(walk, func(entries []segment.TermEntry, term string) error {
		if slices.ContainsFunc(g.variants, func(v variant) bool { return v.term == term }) {
			return nil
		}
		most := uint64(0) // in how many passages it is, with those outside of the scope
		for _, e := range entries {
			most += uint64(e.DF)
		}
		if most <= uint64(best.bar()) {
			return nil
		}
		df, err := p.countTerm(entries, spend)
		if err != nil || df <= best.bar() {
			return err
		}
		best.add(variant{term: strings.Clone(term), df: df, entries: slices.Clone(entries)})
		return nil
	})
	if err != nil && !errors.Is(err, errSpent) {
		return nil, err
	}
	slices.SortFunc(best, func(a, b variant) int { return cmp.Or(cmp.Compare(b.df, a.df), cmp.Compare(a.term, b.term)) })
	return best, nil
}

// eachTerm joins the walks over the views' dictionaries: each term comes once, in
// order, with its entry in each view. The entries are those of the next term later.
func (p *planner) eachTerm(walk func(*Segment) (*segment.Terms, error),
	yield func(entries []segment.TermEntry, term string) error,
) error {
	var heads termHeads
	for i, view := range p.views {
		terms, err := walk(view.view.Segment())
		if err != nil {
			return err
		}
		e, ok, err := terms.Next()
		if err != nil {
			return err
		}
		if ok {
			heads = append(heads, termHead{e, i, terms})
		}
	}
	heap.Init(&heads)
	entries := make([]segment.TermEntry, len(p.views))
	for len(heads) > 0 {
		term := heads[0].entry.Term
		clear(entries)
		for len(heads) > 0 && heads[0].entry.Term == term {
			first := &heads[0]
			entries[first.view] = first.entry
			var ok bool
			var err error
			if first.entry, ok, err = first.terms.Next(); err != nil {
				return err
			}
			if ok {
				heap.Fix(&heads, 0)
			} else {
				heap.Pop(&heads)
			}
		}
		if err := yield(entries, term); err != nil {
			return err
		}
	}
	return nil
}

// termHead is where the walk over the dictionary of a view stands.
type termHead struct {
	entry segment.TermEntry
	view  int
	terms *segment.Terms
}

// termHeads is a heap whose root has the first term.
type termHeads []termHead

func (h termHeads) Len() int           { return len(h) }
func (h termHeads) Less(i, j int) bool { return h[i].entry.Term < h[j].entry.Term }
func (h termHeads) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *termHeads) Push(any)          {} // walks begin together
func (h *termHeads) Pop() any {
	*h = (*h)[:len(*h)-1]
	return nil
}

// commonest keeps the maxParts terms that most passages have, of equals those that
// came first, in a heap whose root is the worst of them.
type commonest []variant

func (c commonest) Len() int { return len(c) }
func (c commonest) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(c[i].df, c[j].df), cmp.Compare(c[j].term, c[i].term)) < 0
}
func (c commonest) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c *commonest) Pop() any     { return nil } // the worst is replaced
func (c *commonest) Push(v any) {
	more, _ := v.(variant)
	*c = append(*c, more)
}

// bar is what a later term must have more of.
func (c commonest) bar() uint32 {
	if len(c) < maxParts {
		return 0
	}
	return c[0].df
}

func (c *commonest) add(v variant) {
	if len(*c) < maxParts {
		heap.Push(c, v)
		return
	}
	(*c)[0] = v
	heap.Fix(c, 0)
}
