package textindex

import (
	"cmp"
	"context"
	"slices"
)

// fuseRank is the constant of reciprocal rank fusion: how little the first
// places stand out.
const fuseRank = 60

// fuse joins passages that are alike by other means. Each list gives a passage
// the reciprocal of its rank; those that words did not find are read where the
// question may see them.
func fuse(ctx context.Context, views []scoped, hits []Hit, q Query, r *reader) ([]Hit, error) {
	scores := make(map[Key]float64, len(hits)+len(q.Near))
	for i, h := range hits {
		scores[h.Key] += 1 / float64(fuseRank+i+1)
	}
	seen := make(map[Key]bool)
	for i, key := range q.Near[:min(len(q.Near), MaxHits)] {
		if seen[key] {
			continue
		}
		seen[key] = true
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
		scores[key] += 1 / float64(fuseRank+i+1)
	}
	for i := range hits {
		hits[i].Score = scores[hits[i].Key]
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), a.Compare(b.Key))
	})
	return hits, nil
}
