package textindex

import (
	"cmp"
	"context"
	"slices"
)

const (
	// perLikeness is what likeness is worth beside words, of which the best hit has 1.
	// It was chosen on the open questions of test/knowledge; 0.5 and 1 find about the
	// same.
	perLikeness = 0.75
	// mostLike is what more than which likeness does not count: a passage that words do
	// not find can come before all that they do, and one that they find best is not lost.
	mostLike = 2
)

// fuse joins passages that are alike by other means. A passage has what of the best
// hit's score words give it, and its likeness; those that words did not find are
// read where the question may see them. Scores and not ranks: what has every word of a
// question is more than one place before what has a few (ADR 0283).
func fuse(ctx context.Context, views []scoped, hits []Hit, q Query, r *reader) ([]Hit, error) {
	best := 0.0
	for _, h := range hits {
		best = max(best, h.Score)
	}
	for i := range hits {
		if best > 0 {
			hits[i].Score /= best
		}
	}
	near := q.Near[:min(len(q.Near), MaxHits)]
	places := make(map[Key]int, len(near))
	for i, key := range near {
		if _, seen := places[key]; seen {
			continue
		}
		places[key] = i
		known := slices.ContainsFunc(hits, func(h Hit) bool { return h.Key == key })
		if !known {
			p, ok, err := readPassage(ctx, views, key)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			said := r.read(p)
			found := evidence(r.plan, rescored{matched: make([]int32, len(r.plan.groups))}, said)
			hits = append(hits, Hit{
				Key: key, Language: p.Language, Title: p.Title, Headings: p.Headings,
				Text: p.Text, Meta: p.Meta, Answer: said.answer, Words: said.words,
				Confidence: confidence(found, r.plan.lexicon), Evidence: found,
			})
		}
	}
	for i, h := range hits {
		hits[i].Score += perLikeness * min(max(likenessOf(h.Key, q, places), 0), mostLike)
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), a.Compare(b.Key))
	})
	return hits, nil
}

// likenessOf is what is known of a passage's likeness: by its place among those that
// are near if nothing else is.
func likenessOf(key Key, q Query, places map[Key]int) float64 {
	if q.Likeness != nil {
		if like, known := q.Likeness(key); known {
			return like
		}
	}
	if place, near := places[key]; near {
		return 1 - float64(place)/float64(len(q.Near))
	}
	return 0
}
