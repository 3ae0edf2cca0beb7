// Package segmentsize says which segments of an index are written anew together.
//
// It promises that a collection has few segments, that each passage is written anew
// a few times only, and that what is to be destroyed comes to be chosen. It refuses
// to join what is large already (ADR 0223).
package segmentsize

import (
	"cmp"
	"slices"
	"time"
)

const (
	// Many segments of about one size are joined.
	Many = 4
	// small is the size below which a segment is written anew at once when something
	// in it is to be destroyed; a larger one at most once in largeRest.
	small     = 32 << 20
	largeRest = time.Hour
	// largest is about the largest that a join makes.
	largest = 1 << 30
)

// Tiers are the sizes that bound segments of about one size, smallest first. What is
// as large as the last is not joined any more. That is sooner where segments have
// vectors, since those of a segment are read as a whole.
func Tiers(vectors bool) []int64 {
	all := []int64{256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20}
	if vectors {
		return all[:4]
	}
	return all
}

// Segment is what is known of a segment.
type Segment struct {
	ID      string
	Size    int64
	Created time.Time
	// Lost is how many of its documents nobody may find any more.
	Lost int
}

// Due is from when on what was lost is destroyed.
func (g Segment) Due() time.Time {
	if g.Size < small {
		return time.Time{}
	}
	return g.Created.Add(largeRest)
}

// waitsSince is when something that was lost in the segment began to wait, at the
// earliest. Segments take turns by it, since one that was written begins anew.
func (g Segment) waitsSince() time.Time {
	if g.Size < small {
		return g.Created
	}
	return g.Due()
}

// Choose returns the segments in which something is to be destroyed, the longest
// waiting first and as far as they make a small one together, with those of the first
// tier that has many, as far as they make the largest. A large one in which something
// is to be destroyed is written alone.
func Choose(all []Segment, tiers []int64, now time.Time) []Segment {
	byTurn := slices.SortedFunc(slices.Values(all), func(a, b Segment) int {
		return cmp.Or(a.waitsSince().Compare(b.waitsSince()), cmp.Compare(a.Size, b.Size))
	})
	var chosen []Segment
	total := int64(0)
	for _, g := range byTurn {
		if g.Lost > 0 && !now.Before(g.Due()) && (len(chosen) == 0 || total+g.Size <= small) {
			chosen, total = append(chosen, g), total+g.Size
		}
	}
	if len(chosen) > 0 && chosen[0].Size >= small {
		return chosen // tiers are joined when it is done
	}
	bySize := slices.SortedFunc(slices.Values(all), func(a, b Segment) int { return cmp.Compare(a.Size, b.Size) })
	perTier := make([][]Segment, len(tiers)+1)
	for _, g := range bySize {
		tier, _ := slices.BinarySearch(tiers, g.Size+1)
		perTier[tier] = append(perTier[tier], g)
	}
	for _, alike := range perTier[:len(tiers)] {
		if len(alike) < Many {
			continue
		}
		for i, g := range alike {
			if slices.Contains(chosen, g) {
				continue
			}
			if total += g.Size; i >= 2 && total > largest {
				break
			}
			chosen = append(chosen, g)
		}
		break
	}
	return chosen
}

// Destroyable is when something of what was not chosen is to be destroyed next, and
// false when nothing is.
func Destroyable(all, chosen []Segment) (next time.Time, some bool) {
	for _, g := range all {
		if g.Lost > 0 && !slices.Contains(chosen, g) && (!some || g.Due().Before(next)) {
			next, some = g.Due(), true
		}
	}
	return next, some
}
