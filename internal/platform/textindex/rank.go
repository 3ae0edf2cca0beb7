package textindex

import (
	"cmp"
	"context"
	"slices"

	"github.com/castalia-org/castalia/internal/platform/textindex/segment"
)

// candidate is a passage that may be among the best.
type candidate struct {
	score int32
	tie   uint32
	view  int
	doc   uint32
	words wordSet
}

// wordSet is which groups of a query a passage has, a bit for each.
type wordSet uint32

// A group has a bit.
var _ = [1]struct{}{}[MaxWords/32]

func (w wordSet) has(group int) bool { return w>>group&1 == 1 }

// less orders candidates, worst first. It does not depend on how passages are
// spread over segments.
func (c candidate) less(d candidate) bool {
	if c.score != d.score {
		return c.score < d.score
	}
	return c.tie > d.tie
}

// best keeps the best candidates in a heap whose root is the worst of them.
type best struct {
	most int
	heap []candidate
	// floor is a score that so many passages are known to reach, before they are
	// in the heap.
	floor int32
}

// bar is the score that a passage must reach to matter. A passage that equals
// it may still win the tie.
func (b *best) bar() int32 {
	if len(b.heap) < b.most {
		return max(b.floor, 1)
	}
	return max(b.floor, b.heap[0].score)
}

func (b *best) offer(c candidate) {
	if len(b.heap) < b.most {
		b.heap = append(b.heap, c)
		for i := len(b.heap) - 1; i > 0; {
			parent := (i - 1) / 2
			if !b.heap[i].less(b.heap[parent]) {
				return
			}
			b.heap[i], b.heap[parent] = b.heap[parent], b.heap[i]
			i = parent
		}
		return
	}
	if !b.heap[0].less(c) {
		return
	}
	b.heap[0] = c
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(b.heap); child++ {
			if b.heap[child].less(b.heap[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		b.heap[i], b.heap[least] = b.heap[least], b.heap[i]
		i = least
	}
}

// lane reads all terms that stand for one word of the query in one segment. What it
// can give is known before anything is read; its postings are opened when it is
// first moved or asked for a bound.
type lane struct {
	group  int
	needed bool
	most   int32  // the best score that the word can give
	doc    uint32 // the least passage of all terms, once it was moved
	moved  bool

	from    *Segment
	entries []segment.TermEntry
	worth   []int32
	terms   []*segment.Postings // none before it is opened
}

// newLanes are the lanes of a view, one for each group.
func newLanes(s *Segment, view int, groups []group) []*lane {
	lanes := make([]*lane, len(groups))
	for i, g := range groups {
		l := &lane{group: i, needed: g.needed, from: s}
		for _, v := range g.variants {
			if e := v.entries[view]; e.DF > 0 {
				l.entries, l.worth = append(l.entries, e), append(l.worth, v.worth)
				l.most = max(l.most, v.worth*int32(e.Best))
			}
		}
		lanes[i] = l
	}
	return lanes
}

func (l *lane) open() error {
	if len(l.terms) == len(l.entries) {
		return nil
	}
	for _, e := range l.entries {
		p, err := l.from.Postings(e)
		if err != nil {
			return err
		}
		l.terms = append(l.terms, p)
	}
	return nil
}

// seek moves every term to a passage or beyond it.
func (l *lane) seek(doc uint32) error {
	if err := l.open(); err != nil {
		return err
	}
	l.doc, l.moved = segment.NoPassage, true
	for _, p := range l.terms {
		if err := p.Seek(doc); err != nil {
			return err
		}
		l.doc = min(l.doc, p.Doc)
	}
	return nil
}

// rewind goes back before the first passage.
func (l *lane) rewind() {
	for _, p := range l.terms {
		p.Rewind()
	}
	l.doc, l.moved = 0, false
}

// score is what the word is worth in the passage where the lane stands: the best
// of its terms, so that a passage wins nothing by saying it in many ways.
func (l *lane) score() int32 {
	score := int32(0)
	for i, p := range l.terms {
		if p.Doc == l.doc {
			score = max(score, l.worth[i]*int32(p.Impact()))
		}
	}
	return score
}

// bound is the best score that the word can give from a passage to the end of
// the blocks in which it would be, and that end.
func (l *lane) bound(doc uint32) (int32, uint32) {
	score, end := int32(0), segment.NoPassage-1
	for i, p := range l.terms {
		best, last := p.Bound(doc)
		score = max(score, l.worth[i]*int32(best))
		end = min(end, last)
	}
	return score, end
}

// gather finds the best passages of one view (block-max MaxScore): lanes whose
// words together cannot reach the bar are only looked into for passages that
// another lane has, and blocks that cannot reach it are not read.
func gather(ctx context.Context, view int, s scoped, all []*lane, into *best) error {
	var lanes []*lane
	for _, l := range all {
		if len(l.entries) > 0 {
			lanes = append(lanes, l)
		}
	}
	slices.SortStableFunc(lanes, func(a, b *lane) int { return cmp.Compare(a.most, b.most) })
	upTo := make([]int32, len(lanes)+1) // what the first lanes can give together
	for i, l := range lanes {
		upTo[i+1] = upTo[i] + l.most
	}
	if into.bar() == 1 {
		if err := raiseFloor(ctx, s, lanes, into); err != nil {
			return err
		}
	}
	walk := walk{view: view, s: s, lanes: lanes, upTo: upTo, into: into}
	for steps := 0; ; steps++ {
		if steps%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		bar := into.bar()
		for walk.essential < len(lanes) && upTo[walk.essential+1] < bar {
			walk.essential, walk.known = walk.essential+1, false
		}
		if steps == 0 {
			if err := seekAll(lanes[walk.essential:], 0); err != nil {
				return err
			}
		}
		doc := segment.NoPassage
		for _, l := range lanes[walk.essential:] {
			doc = min(doc, l.doc)
		}
		if doc == segment.NoPassage {
			return nil
		}
		next, err := walk.evaluate(doc)
		if err != nil {
			return err
		}
		for _, l := range lanes[walk.essential:] {
			if l.doc < next {
				if err := l.seek(next); err != nil {
					return err
				}
			}
		}
	}
}

// walk is a way through the passages of one view.
type walk struct {
	view  int
	s     scoped
	lanes []*lane
	upTo  []int32
	into  *best
	// essential is the first lane that a passage must have, or a later one.
	essential int
	// bound is the best score up to a passage, which is in the same blocks, if known.
	known bool
	bound int32
	until uint32
}

// floorPassages is how many passages are scored to find a floor.
const floorPassages = 1024

// raiseFloor scores passages that have the rarest words first. The worst of the
// best of them is a floor for all: without it, common words would be read until
// enough good passages were met by chance. It leaves the lanes at their start.
func raiseFloor(ctx context.Context, s scoped, lanes []*lane, into *best) error {
	top := &best{most: into.most}
	if err := seekAll(lanes, 0); err != nil {
		return err
	}
	left := floorPassages
	for at := len(lanes) - 1; at >= 0 && left > 0 && len(top.heap) < top.most; at-- {
		for lanes[at].doc != segment.NoPassage && left > 0 {
			doc := lanes[at].doc
			left--
			if left%256 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			score, met := int32(0), s.hidden.Has(doc)
			for i := len(lanes) - 1; i >= 0 && !met; i-- {
				if err := lanes[i].seek(doc); err != nil {
					return err
				}
				if lanes[i].doc == doc {
					met = i > at // a rarer word has brought it here
					score += lanes[i].score()
				}
			}
			if !met {
				top.offer(candidate{score: score, doc: doc})
			}
			if err := lanes[at].seek(doc + 1); err != nil {
				return err
			}
		}
		for _, l := range lanes {
			if l.rewind(); at > 0 {
				if err := l.seek(0); err != nil {
					return err
				}
			}
		}
	}
	if len(top.heap) == top.most {
		into.floor = top.bar()
	}
	return nil
}

// bounds is the best score that a passage and those after it can have, up to the
// first end of a block. Passages come in order.
func (w *walk) bounds(doc uint32) (int32, uint32) {
	if !w.known || doc > w.until {
		w.bound, w.until, w.known = w.upTo[w.essential], segment.NoPassage-1, true
		for _, l := range w.lanes[w.essential:] {
			score, last := l.bound(doc)
			w.bound += score
			w.until = min(w.until, last)
		}
	}
	return w.bound, w.until
}

// evaluate scores a passage if its blocks can reach the bar, and returns where
// to go on.
func (w *walk) evaluate(doc uint32) (uint32, error) {
	bar := w.into.bar()
	if bar > 1 {
		if bound, end := w.bounds(doc); bound < bar {
			return end + 1, nil
		}
	}
	if w.s.hidden.Has(doc) {
		return doc + 1, nil
	}
	score, words := int32(0), wordSet(0)
	for _, l := range w.lanes[w.essential:] {
		if l.doc == doc {
			score += l.score()
			words |= 1 << l.group
		}
	}
	for i := w.essential - 1; i >= 0; i-- {
		if score+w.upTo[i+1] < bar {
			return doc + 1, nil
		}
		l := w.lanes[i]
		if !l.moved || l.doc < doc {
			if err := l.open(); err != nil {
				return 0, err
			}
			if bound, _ := l.bound(doc); score+w.upTo[i]+bound < bar {
				return doc + 1, nil
			}
			if err := l.seek(doc); err != nil {
				return 0, err
			}
		}
		if l.doc == doc {
			score += l.score()
			words |= 1 << l.group
		}
	}
	if score < bar {
		return doc + 1, nil
	}
	tie, err := w.s.view.Segment().Tie(doc)
	if err != nil {
		return 0, err
	}
	w.into.offer(candidate{score, tie, w.view, doc, words})
	return doc + 1, nil
}
