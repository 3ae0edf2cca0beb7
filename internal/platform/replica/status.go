package replica

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob"
)

// Status is what a replica holds, as its names tell; it needs no key.
type Status struct {
	Deployment  string
	Generations int
	// Oldest and Newest are the moments between which it can be restored. Both are zero
	// while there is no whole copy.
	Oldest, Newest time.Time
	// Passed are newer generations that cannot be restored, for want of a whole copy.
	Passed        []int64
	Bases, Pieces int
	Bytes         int64 // of bases and pieces
	Objects       int
	ObjectBytes   int64
}

// Look reads the names in a replica.
func Look(ctx context.Context, from blob.Store) (Status, error) {
	var s Status
	var err error
	if s.Deployment, err = ownerOf(ctx, from); err != nil || s.Deployment == "" {
		return s, err
	}
	for info, err := range from.List(ctx, startFolder) {
		if err != nil {
			return s, err
		}
		if _, ok := parseStart(info.Key); ok {
			s.Generations++
		}
	}
	bases, err := list(ctx, from, baseFolder)
	if err != nil {
		return s, err
	}
	log, err := list(ctx, from, logFolder)
	if err != nil {
		return s, err
	}
	s.Bases, s.Pieces = len(bases), len(log)
	all := slices.Concat(bases, log)
	for _, p := range all {
		s.Bytes += p.Bytes
	}
	s.reach(all)
	for info, err := range from.List(ctx, objectFolder) {
		if err != nil {
			return s, err
		}
		s.Objects++
		s.ObjectBytes += info.Size
	}
	return s, nil
}

// reach finds between which moments it can be restored. What a generation continues is
// in its start, which only a key opens, but numbers tell: one that continues nothing
// counts from 1, any other from the piece or base behind which it goes on. Behind a first
// base without a piece both look the same, and it is taken to go on: to be lost it would
// have had to change.
func (s *Status) reach(all []place) {
	slices.SortFunc(all, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Seq, b.Seq), strings.Compare(a.Name, b.Name))
	})
	var generation, newest int64
	reached, bare := false, false // bare: the last one reached is a first base without a piece
	ends := map[int64]bool{}      // numbers behind which a generation may go on
	for _, p := range all {
		base := strings.HasPrefix(p.Name, baseFolder)
		if p.Generation != generation {
			generation, reached = p.Generation, p.Seq > 1 && ends[p.Seq-1] || p.Seq == 1 && bare
		}
		if base && (s.Oldest.IsZero() || p.Made.Before(s.Oldest)) {
			s.Oldest = p.Made
		}
		if reached = reached || base; !reached {
			s.Passed = append(s.Passed, generation)
			continue
		}
		ends[p.Seq], newest, bare = true, generation, base && p.Seq == 0
		if p.Made.After(s.Newest) {
			s.Newest = p.Made
		}
	}
	s.Passed = slices.DeleteFunc(slices.Compact(s.Passed), func(g int64) bool { return g <= newest })
}
