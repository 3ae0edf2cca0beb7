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
	// candidates are compared by their positions, and readCandidates of them are
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
	keep := max(readCandidates, q.Limit)
	found, err := rank(ctx, views, made.groups, max(candidates, 2*q.Limit), keep, collect)
	if err != nil {
		return Result{}, err
	}
	hits, err := readHits(views, found, newReader(analyser, made))
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
				hits[i].Confidence = either(h.Confidence, like)
			}
		}
	}
	out := Result{Hits: hits[:min(len(hits), q.Limit)], Language: made.language, Cut: made.cut, Spent: made.spent}
	for _, h := range out.Hits {
		out.Confidence = max(out.Confidence, h.Confidence)
	}
	out.Answered = out.Confidence >= Answerable
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

// rank returns the best candidates of all views, best first. Most of them are
// compared by their positions, as far as that can decide which are kept.
func rank(ctx context.Context, views []scoped, groups []group, most, keep int,
	collect func(ctx context.Context, view int, s scoped, lanes []*lane, into *best) error,
) ([]rescored, error) {
	top := &best{most: most}
	lanes := make([][]*lane, len(views))
	for _, i := range largestFirst(views) {
		lanes[i] = newLanes(views[i].view.Segment(), i, groups)
		if err := collect(ctx, i, views[i], lanes[i], top); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(top.heap, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.tie, b.tie))
	})
	first, rest := top.heap[:min(keep, len(top.heap))], top.heap[min(keep, len(top.heap)):]
	found, err := rescoreAll(lanes, groups, first)
	if err != nil || len(rest) == 0 {
		return found, err
	}
	// Positions are read from all over a segment: not for whom they cannot help.
	least := found[len(found)-1].score()
	rest = slices.DeleteFunc(rest, func(c candidate) bool { return c.atBest(groups) < least })
	more, err := rescoreAll(lanes, groups, rest)
	if err != nil {
		return nil, err
	}
	found = append(found, more...)
	slices.SortFunc(found, rescored.compare)
	return found[:keep], nil
}

// largestFirst is the order in which views are asked. The best of a large one set a
// bar that few passages of the others reach.
func largestFirst(views []scoped) []int {
	order := make([]int, len(views))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(views[b].visible, views[a].visible) })
	return order
}

// rescoreAll reads the positions of candidates, and returns the best first.
func rescoreAll(lanes [][]*lane, groups []group, all []candidate) ([]rescored, error) {
	perView := make([][]candidate, len(lanes))
	for _, c := range all {
		perView[c.view] = append(perView[c.view], c)
	}
	out := make([]rescored, 0, len(all))
	for i, found := range perView {
		if len(found) == 0 {
			continue
		}
		more, err := rescore(lanes[i], groups, found)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	slices.SortFunc(out, rescored.compare)
	return out, nil
}

// readHits reads the best candidates' passages, judges them by their sentences
// and puts them in their last order.
func readHits(views []scoped, found []rescored, r *reader) ([]Hit, error) {
	hits := make([]Hit, 0, len(found))
	for _, c := range found {
		from := views[c.view].view.Segment()
		p, err := from.Passage(c.doc)
		if err != nil {
			return nil, err
		}
		said := r.read(p)
		evidence := evidence(r.plan, c, said)
		hits = append(hits, Hit{
			Key:      Key{Collection: from.Collection(), Document: p.Document, Number: p.Number},
			Language: p.Language, Title: p.Title, Headings: p.Headings, Text: p.Text, Meta: p.Meta,
			Score:      c.score() * (1 + sentenceShare*said.context),
			Confidence: confidence(evidence, r.plan.lexicon), Evidence: evidence,
			Answer: said.answer,
			Words:  said.words,
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
