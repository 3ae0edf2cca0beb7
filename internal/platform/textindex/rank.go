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
}

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

// lane reads all terms that stand for one word of the query in one segment.
type lane struct {
	terms []*segment.Postings
	worth []int32
	doc   uint32 // the least passage of all terms
	most  int32  // the best score that the word can give
}

func newLane(s *Segment, view int, g group) (*lane, error) {
	l := &lane{}
	for _, v := range g.variants {
		if v.entries[view].DF == 0 {
			continue
		}
		p, err := s.Postings(v.entries[view])
		if err != nil {
			return nil, err
		}
		l.terms = append(l.terms, p)
		l.worth = append(l.worth, v.worth)
		l.most = max(l.most, v.worth*int32(v.entries[view].Best))
	}
	return l, nil
}

// seek moves every term to a passage or beyond it.
func (l *lane) seek(doc uint32) error {
	l.doc = segment.NoPassage
	for _, p := range l.terms {
		if err := p.Seek(doc); err != nil {
			return err
		}
		l.doc = min(l.doc, p.Doc)
	}
	return nil
}

// rewind goes back to the first passage.
func (l *lane) rewind() error {
	for _, p := range l.terms {
		p.Rewind()
	}
	return l.seek(0)
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
func gather(ctx context.Context, view int, s scoped, groups []group, into *best) error {
	var lanes []*lane
	for _, g := range groups {
		l, err := newLane(s.view.Segment(), view, g)
		if err != nil {
			return err
		}
		if len(l.terms) == 0 {
			continue
		}
		if err := l.seek(0); err != nil {
			return err
		}
		lanes = append(lanes, l)
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
	essential := 0 // the first lane that a passage must have, or a later one
	for steps := 0; ; steps++ {
		if steps%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		bar := into.bar()
		for essential < len(lanes) && upTo[essential+1] < bar {
			essential++
		}
		doc := segment.NoPassage
		for _, l := range lanes[essential:] {
			doc = min(doc, l.doc)
		}
		if doc == segment.NoPassage {
			return nil
		}
		next, err := evaluate(view, s, lanes, essential, upTo, doc, into)
		if err != nil {
			return err
		}
		for _, l := range lanes[essential:] {
			if l.doc < next {
				if err := l.seek(next); err != nil {
					return err
				}
			}
		}
	}
}

// floorPassages is how many passages are scored to find a floor.
const floorPassages = 1024

// raiseFloor scores passages that have the rarest words first. The worst of the
// best of them is a floor for all: without it, common words would be read until
// enough good passages were met by chance. It leaves the lanes at their start.
func raiseFloor(ctx context.Context, s scoped, lanes []*lane, into *best) error {
	top := &best{most: into.most}
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
			if err := l.rewind(); err != nil {
				return err
			}
		}
	}
	if len(top.heap) == top.most {
		into.floor = top.bar()
	}
	return nil
}

// evaluate scores a passage if its blocks can reach the bar, and returns where
// to go on.
func evaluate(view int, s scoped, lanes []*lane, essential int, upTo []int32, doc uint32, into *best) (uint32, error) {
	bar := into.bar()
	if bar > 1 {
		bound, end := upTo[essential], segment.NoPassage-1
		for _, l := range lanes[essential:] {
			score, last := l.bound(doc)
			bound += score
			end = min(end, last)
		}
		if bound < bar {
			return end + 1, nil
		}
	}
	if s.hidden.Has(doc) {
		return doc + 1, nil
	}
	score := int32(0)
	for _, l := range lanes[essential:] {
		if l.doc == doc {
			score += l.score()
		}
	}
	for i := essential - 1; i >= 0; i-- {
		if score+upTo[i+1] < bar {
			return doc + 1, nil
		}
		l := lanes[i]
		if l.doc < doc {
			if bound, _ := l.bound(doc); score+upTo[i]+bound < bar {
				return doc + 1, nil
			}
			if err := l.seek(doc); err != nil {
				return 0, err
			}
		}
		if l.doc == doc {
			score += l.score()
		}
	}
	if score < bar {
		return doc + 1, nil
	}
	tie, err := s.view.Segment().Tie(doc)
	if err != nil {
		return 0, err
	}
	into.offer(candidate{score, tie, view, doc})
	return doc + 1, nil
}
