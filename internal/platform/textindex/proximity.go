package textindex

import (
	"cmp"
	"slices"

	"github.com/castalia-org/castalia/internal/platform/textindex/segment"
)

// window is how many words apart two words of a question may be to count as
// being near each other.
const window = 8

// rescored is a candidate with what its positions say.
type rescored struct {
	candidate
	// lexical is the score of the terms, and near what their nearness adds.
	lexical, near float64
	// matched has, for each group, the best weight of a term that is there.
	matched []int32
}

func (r rescored) score() float64 { return r.lexical + float64(nearShare*r.near) }

// compare puts the best first.
func (r rescored) compare(other rescored) int {
	return cmp.Or(cmp.Compare(other.score(), r.score()), cmp.Compare(r.tie, other.tie))
}

// lexical is the score of the terms in units of rarity.
func (c candidate) lexical() float64 { return float64(c.score) / (255 * rarityUnit) }

// atBest is the score of a candidate whose words are as near each other as can be.
func (c candidate) atBest(groups []group) float64 {
	near := 0.0
	last := -1
	for i := range groups {
		if !c.words.has(i) {
			continue
		}
		if last >= 0 {
			near += neighbours(groups, last, i)
		}
		last = i
	}
	return rescored{lexical: c.lexical(), near: near}.score()
}

// neighbours is what two words of a question are worth where they are neighbours.
func neighbours(groups []group, a, b int) float64 {
	return float64(min(groups[a].rarity, groups[b].rarity)) / rarityUnit
}

// nearShare is what nearness may add, next to the terms themselves.
const nearShare = 0.35

// rescore reads the positions of the candidates of one view, whose lanes it moves.
func rescore(lanes []*lane, groups []group, found []candidate) ([]rescored, error) {
	slices.SortFunc(found, func(a, b candidate) int { return cmp.Compare(a.doc, b.doc) })
	for _, l := range lanes {
		l.rewind()
	}
	out := make([]rescored, len(found))
	places := make([][segment.Fields][]uint32, len(groups))
	for n, c := range found {
		out[n] = rescored{candidate: c, lexical: c.lexical(), matched: make([]int32, len(groups))}
		for i, l := range lanes {
			for f := range places[i] {
				places[i][f] = places[i][f][:0]
			}
			if !c.words.has(i) {
				continue
			}
			if err := l.seek(c.doc); err != nil {
				return nil, err
			}
			if err := readLane(l, groups[i], &places[i], &out[n].matched[i]); err != nil {
				return nil, err
			}
		}
		out[n].near = nearness(groups, places)
	}
	return out, nil
}

// readLane gathers where a word stands in a passage, in any of its forms.
func readLane(l *lane, g group, places *[segment.Fields][]uint32, matched *int32) error {
	terms := 0
	for i, p := range l.terms {
		if p.Doc != l.doc {
			continue
		}
		if err := p.Places(places); err != nil {
			return err
		}
		*matched = max(*matched, l.worth[i]*wholeWeight/max(g.rarity, 1))
		terms++
	}
	if terms > 1 {
		for f := range places {
			slices.Sort(places[f])
		}
	}
	return nil
}

// nearness adds up what pairs of neighbouring words of the question are worth
// where they are neighbours in the passage, or near each other.
func nearness(groups []group, places [][segment.Fields][]uint32) float64 {
	sum := 0.0
	last := -1
	for i := range groups {
		if len(places[i][segment.InBody])+len(places[i][segment.InTitle])+len(places[i][segment.InHeadings]) == 0 {
			continue
		}
		if last >= 0 {
			apart := groups[i].position - groups[last].position
			pair := 0.0
			for f := range places[i] {
				pair = max(pair, closeness(places[last][f], places[i][f], apart))
			}
			sum += pair * neighbours(groups, last, i)
		}
		last = i
	}
	return sum
}

// closeness is 1 where the second word follows the first as it does in the
// question, and less the farther apart they are at best.
func closeness(first, second []uint32, apart int) float64 {
	top := 0.0
	for _, x := range first {
		at, _ := slices.BinarySearch(second, x)
		for _, y := range second[max(at-1, 0):min(at+2, len(second))] {
			d := int(y) - int(x)
			switch {
			case d > 0 && d <= max(apart, 1):
				return 1
			case d < 0:
				d = -d
			}
			if d <= window {
				top = max(top, 0.7*float64(window+1-d)/float64(window))
			}
		}
	}
	return top
}
