package textindex

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
)

const (
	// candidates are rescored by their positions, and readCandidates of them are
	// read and judged by their sentences.
	candidates     = 64
	readCandidates = 16
)

// Searcher asks several views at once. It is immutable, cheap to make, and safe
// for concurrent use.
type Searcher struct {
	views    []*View
	synonyms *analyse.Synonyms
	// analysers remember words from query to query.
	analysers sync.Pool
}

// NewSearcher returns a searcher over views, with a community's synonyms or nil.
func NewSearcher(views []*View, synonyms *analyse.Synonyms) *Searcher {
	return &Searcher{
		views:     slices.Clone(views),
		synonyms:  synonyms,
		analysers: sync.Pool{New: func() any { return analyse.NewAnalyser() }},
	}
}

// Search returns the passages in the scope that answer a question best.
func (s *Searcher) Search(ctx context.Context, q Query) (Result, error) {
	q.Text = cutText(q.Text, MaxQuery)
	if q.Limit <= 0 {
		q.Limit = 10
	}
	q.Limit = min(q.Limit, MaxHits)
	analyser, _ := s.analysers.Get().(*analyse.Analyser)
	defer s.analysers.Put(analyser)
	views, made, err := s.prepare(ctx, q, analyser)
	if err != nil {
		return Result{}, err
	}
	collect := gather
	if q.All {
		collect, q.Near = gatherAll, nil
	}
	found, err := s.rank(ctx, views, made.groups, max(candidates, 2*q.Limit), collect)
	if err != nil {
		return Result{}, err
	}
	hits, err := readHits(views, found, newReader(analyser, made), max(readCandidates, q.Limit))
	if err != nil {
		return Result{}, err
	}
	if len(q.Near) > 0 {
		if hits, err = fuse(ctx, views, hits, q, newReader(analyser, made)); err != nil {
			return Result{}, err
		}
	}
	if q.Likeness != nil {
		for i, h := range hits {
			if like, known := q.Likeness(h.Key); known {
				hits[i].Confidence = agreed(h.Confidence, like)
			}
		}
	}
	out := Result{Hits: hits[:min(len(hits), q.Limit)], Language: made.language, Cut: made.cut, Spent: made.spent}
	for _, h := range out.Hits {
		out.Confidence = max(out.Confidence, h.Confidence)
	}
	out.Answered = out.Confidence >= answerable
	return out, nil
}

// prepare leaves what a question may see, and reads the question for it.
func (s *Searcher) prepare(ctx context.Context, q Query, analyser *analyse.Analyser) ([]scoped, plan, error) {
	views, err := applyScope(ctx, s.views, q.Scope)
	if err != nil {
		return nil, plan{}, err
	}
	p := planner{analyser: analyser, synonyms: s.synonyms, views: views, left: maxWork}
	for _, v := range views {
		p.passages += v.visible
	}
	made, err := p.plan(ctx, q)
	return views, made, err
}

// rank returns the best candidates of all views, best first.
func (s *Searcher) rank(ctx context.Context, views []scoped, groups []group, most int,
	collect func(ctx context.Context, view int, s scoped, groups []group, into *best) error,
) ([]rescored, error) {
	top := &best{most: most}
	for i, v := range views {
		if err := collect(ctx, i, v, groups, top); err != nil {
			return nil, err
		}
	}
	perView := make([][]candidate, len(views))
	for _, c := range top.heap {
		perView[c.view] = append(perView[c.view], c)
	}
	var out []rescored
	for i, found := range perView {
		if len(found) == 0 {
			continue
		}
		more, err := rescore(i, views[i], groups, found)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	slices.SortFunc(out, func(a, b rescored) int {
		return cmp.Or(cmp.Compare(b.score(), a.score()), cmp.Compare(a.tie, b.tie))
	})
	return out, nil
}

// readHits reads the best candidates' passages, judges them by their sentences
// and puts them in their last order.
func readHits(views []scoped, found []rescored, r *reader, most int) ([]Hit, error) {
	hits := make([]Hit, 0, min(len(found), most))
	for _, c := range found[:min(len(found), most)] {
		from := views[c.view].view.Segment()
		p, err := from.Passage(c.doc)
		if err != nil {
			return nil, err
		}
		said := r.read(p)
		hits = append(hits, Hit{
			Key:      Key{Collection: from.Collection(), Document: p.Document, Number: p.Number},
			Language: p.Language, Title: p.Title, Headings: p.Headings, Text: p.Text, Meta: p.Meta,
			Score:      c.score() * (1 + sentenceShare*said.context),
			Confidence: confidence(r.plan, c, said),
			Answer:     said.answer,
			Words:      said.words,
		})
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), a.Compare(b.Key))
	})
	return hits, nil
}

// sentenceShare is what a passage gains when few sentences have the question.
const sentenceShare = 0.5

// Read returns one passage by its key if the scope has it.
func (s *Searcher) Read(ctx context.Context, scope Scope, key Key) (Passage, bool, error) {
	views, err := applyScope(ctx, s.views, scope)
	if err != nil {
		return Passage{}, false, err
	}
	return readPassage(ctx, views, key)
}

func readPassage(ctx context.Context, views []scoped, key Key) (Passage, bool, error) {
	for _, v := range views {
		if v.view.Segment().Collection() != key.Collection {
			continue
		}
		if ctx.Err() != nil {
			return Passage{}, false, ctx.Err()
		}
		p, ok, err := v.read(key)
		if err != nil || ok {
			return p, ok, err
		}
	}
	return Passage{}, false, nil
}

// read finds a passage by its key among a document's, which are in order.
func (s scoped) read(key Key) (Passage, bool, error) {
	low, end, ok, err := s.view.Segment().Span(key.Document)
	if err != nil {
		return Passage{}, false, err
	}
	if !ok || s.hidden.Has(low) {
		return Passage{}, false, nil
	}
	for low < end {
		middle := low + (end-low)/2
		p, err := s.view.Segment().Passage(middle)
		switch {
		case err != nil:
			return Passage{}, false, err
		case p.Number == key.Number:
			return p, true, nil
		case p.Number < key.Number:
			low = middle + 1
		default:
			end = middle
		}
	}
	return Passage{}, false, nil
}

func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return strings.Clone(text[:most])
}
