package textindex

import (
	"context"
	"math/bits"

	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
)

// Matches are all documents of a scope that have words of a question, in no order of
// rank. They are for those who order what they find by other means, and who need to
// know how much there is.
type Matches struct {
	Documents []Match
	// Needed has a bit for each word that must be there. It is 0 when the question has
	// no words.
	Needed uint32
	// Spent is as in a Result.
	Spent bool

	from  *Searcher
	views []scoped
	plan  plan
}

// Match is a document that has some of the needed words.
type Match struct {
	Document string
	// Words are the bits of those that it has, Most how many of them its passage has
	// that has the most of them.
	Words uint32
	Most  int

	view    int
	passage uint32
}

// Match lists every document in the scope that has a word of a question. Limit and
// Near are not asked.
func (s *Searcher) Match(ctx context.Context, q Query) (*Matches, error) {
	q.Text = cutText(q.Text, MaxQuery)
	analyser, _ := s.analysers.Get().(*analyse.Analyser)
	defer s.analysers.Put(analyser)
	views, made, err := s.prepare(ctx, q, analyser)
	if err != nil {
		return nil, err
	}
	out := &Matches{from: s, views: views, plan: made, Spent: made.spent}
	for i, g := range made.groups {
		if g.needed {
			out.Needed |= 1 << i
		}
	}
	for i := range views {
		if err := out.matchView(ctx, i); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// matchView adds what one view has.
func (m *Matches) matchView(ctx context.Context, view int) error {
	s := m.views[view]
	segment := s.view.Segment()
	words := make([]uint32, segment.Passages())
	some := false
	for i, g := range m.plan.groups {
		if !g.needed {
			continue
		}
		for _, v := range g.variants {
			if v.entries[view].DF == 0 {
				continue
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			p, err := segment.Postings(v.entries[view])
			if err != nil {
				return err
			}
			for at := uint32(0); ; at = p.Doc + 1 {
				if err := p.Seek(at); err != nil {
					return err
				}
				if uint64(p.Doc) >= uint64(len(words)) {
					break
				}
				words[p.Doc] |= 1 << i
				some = true
			}
		}
	}
	if !some {
		return nil
	}
	return segment.EachDocument(func(name string, from, to uint32) error {
		if s.hidden.Has(from) { // documents are hidden as a whole
			return nil
		}
		found := Match{Document: name, view: view}
		for at := from; at < to; at++ {
			if words[at] == 0 {
				continue
			}
			found.Words |= words[at]
			if n := bits.OnesCount32(words[at]); n > found.Most {
				found.Most, found.passage = n, at
			}
		}
		if found.Words != 0 {
			m.Documents = append(m.Documents, found)
		}
		return nil
	})
}

// Read returns the passage of a match that has the most words, and where they stand.
func (m *Matches) Read(found Match) (Hit, error) {
	from := m.views[found.view].view.Segment()
	p, err := from.Passage(found.passage)
	if err != nil {
		return Hit{}, err
	}
	analyser, _ := m.from.analysers.Get().(*analyse.Analyser)
	defer m.from.analysers.Put(analyser)
	said := newReader(analyser, m.plan).read(p)
	return Hit{
		Key:      Key{Collection: from.Collection(), Document: p.Document, Number: p.Number},
		Language: p.Language, Title: p.Title, Headings: p.Headings, Text: p.Text, Meta: p.Meta, Answer: said.answer,
		Words: said.words,
	}, nil
}
