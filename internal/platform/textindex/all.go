package textindex

import (
	"context"

	"github.com/castalia-org/castalia/internal/platform/textindex/segment"
)

// gatherAll finds the best documents of one view that have every needed word, and
// offers the best passage of each.
func gatherAll(ctx context.Context, view int, s scoped, lanes []*lane, into *best) error {
	var needed []*lane
	for _, l := range lanes {
		if !l.needed {
			continue
		}
		if len(l.entries) == 0 {
			return nil
		}
		needed = append(needed, l)
	}
	if len(needed) == 0 {
		return nil
	}
	if err := seekAll(lanes, 0); err != nil {
		return err
	}
	for steps := 0; ; steps++ {
		if steps%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		at := uint32(0)
		for _, l := range needed {
			at = max(at, l.doc)
		}
		if at == segment.NoPassage {
			return nil
		}
		from, to, err := s.view.Segment().SpanAround(at)
		if err != nil {
			return err
		}
		met, err := meetIn(needed, from, to)
		if err != nil {
			return err
		}
		if !met {
			continue // a lane is beyond the document now
		}
		if s.hidden.Has(from) { // documents are hidden as a whole
			if err := seekAll(needed, to); err != nil {
				return err
			}
			continue
		}
		if err := offerDocument(view, s, lanes, from, to, into); err != nil {
			return err
		}
	}
}

// meetIn moves lanes to a document, and reports whether all have a passage in it.
func meetIn(lanes []*lane, from, to uint32) (bool, error) {
	for _, l := range lanes {
		if l.doc < from {
			if err := l.seek(from); err != nil {
				return false, err
			}
		}
		if l.doc >= to {
			return false, nil
		}
	}
	return true, nil
}

func seekAll(lanes []*lane, doc uint32) error {
	for _, l := range lanes {
		if !l.moved || l.doc < doc {
			if err := l.seek(doc); err != nil {
				return err
			}
		}
	}
	return nil
}

// offerDocument scores a document by its best passage and by what each word is worth
// anywhere in it, and leaves the lanes behind it.
func offerDocument(view int, s scoped, lanes []*lane, from, to uint32, into *best) error {
	if err := seekAll(lanes, from); err != nil {
		return err
	}
	anywhere := make([]int32, len(lanes))
	top, where, words := int32(-1), from, wordSet(0)
	for {
		at := to
		for _, l := range lanes {
			at = min(at, l.doc)
		}
		if at == to {
			break
		}
		sum, met := int32(0), wordSet(0)
		for i, l := range lanes {
			if l.doc != at {
				continue
			}
			met |= 1 << l.group
			score := l.score()
			sum += score
			anywhere[i] = max(anywhere[i], score)
			if err := l.seek(at + 1); err != nil {
				return err
			}
		}
		if sum > top {
			top, where, words = sum, at, met
		}
	}
	total := int32(0)
	for _, score := range anywhere {
		total += score
	}
	// What all passages have is worth nothing, and is there all the same.
	score := max(top+(total-top)/2, 1)
	if score < into.bar() {
		return nil
	}
	tie, err := s.view.Segment().Tie(where)
	if err != nil {
		return err
	}
	into.offer(candidate{score, tie, view, where, words})
	return nil
}
