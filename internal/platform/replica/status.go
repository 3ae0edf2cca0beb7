package replica

import (
	"context"
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
	Bases, Pieces  int
	Bytes          int64 // of bases and pieces
	Objects        int
	ObjectBytes    int64
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
	for i, p := range append(bases, log...) {
		s.Bytes += p.Bytes
		if i < len(bases) && (s.Oldest.IsZero() || p.Made.Before(s.Oldest)) {
			s.Oldest = p.Made
		}
		if len(bases) > 0 && p.Made.After(s.Newest) {
			s.Newest = p.Made
		}
	}
	for info, err := range from.List(ctx, objectFolder) {
		if err != nil {
			return s, err
		}
		s.Objects++
		s.ObjectBytes += info.Size
	}
	return s, nil
}
