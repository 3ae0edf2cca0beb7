package shelf

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/textindex/segmentsize"
)

// Held is a segment of a collection, and the documents in it that nobody may find.
type Held struct {
	Record
	Lost []string
}

// Keeper keeps the records of one collection as it was when its segments were read.
type Keeper interface {
	// DestroyLater says that what was lost stays until a time.
	DestroyLater(ctx context.Context, until time.Time) error
	// Replace puts one segment, or none, in place of others. Settled says that nothing
	// which was lost is left then.
	Replace(ctx context.Context, old []Held, by *Record, settled bool) error
}

// Tidy writes what a collection has to join or to destroy as one segment, and
// returns how many that were.
func (s Shelf) Tidy(ctx context.Context, vault Vault, collection string, held []Held, tiers []int64, now time.Time,
	k Keeper,
) (int, error) {
	var all []segmentsize.Segment
	byID := map[string]Held{}
	for _, h := range held {
		all = append(all, segmentsize.Segment{ID: h.ID, Size: h.Size, Created: h.Created, Lost: len(h.Lost)})
		byID[h.ID] = h
	}
	chosen := segmentsize.Choose(all, tiers, now)
	due, some := segmentsize.Destroyable(all, chosen)
	if some {
		if due.After(now) {
			if err := k.DestroyLater(ctx, due); err != nil {
				return 0, fmt.Errorf("put off: %w", err)
			}
		}
		if len(chosen) == 0 {
			return 0, nil
		}
	}
	var old []Held
	for _, g := range chosen {
		old = append(old, byID[g.ID])
	}
	by, err := s.Join(ctx, vault, collection, old, now)
	if err != nil {
		return 0, err
	}
	return len(old), k.Replace(ctx, old, by, !some)
}

// Graves are the records of segments that are dead.
type Graves interface {
	// DeadSegments lists those that were dead before a time; Forget drops their records.
	DeadSegments(ctx context.Context, before time.Time, limit int) ([]Record, error)
	Forget(ctx context.Context, ids []string) error
	// Knows reports whether a record names the segment.
	Knows(ctx context.Context, id string) (bool, error)
}

// sweepPage is how many records are swept at once.
const sweepPage = 16

// Sweep deletes the objects of segments that were dead before a time, and those that
// no record ever named.
func (s Shelf) Sweep(ctx context.Context, records Graves, before time.Time) error {
	for {
		dead, err := records.DeadSegments(ctx, before, sweepPage)
		if err != nil {
			return fmt.Errorf("find dead segments: %w", err)
		}
		if len(dead) == 0 {
			break
		}
		var ids []string
		for _, r := range dead {
			if err := s.Blobs.Delete(ctx, s.Object(r.ID)); err != nil {
				return fmt.Errorf("delete segment: %w", err)
			}
			ids = append(ids, r.ID)
		}
		if err := records.Forget(ctx, ids); err != nil {
			return fmt.Errorf("forget segments: %w", err)
		}
	}
	return s.SweepOrphans(ctx, s.Prefix, before, records.Knows)
}

// SweepOrphans deletes objects from before a time that no record names.
func (s Shelf) SweepOrphans(ctx context.Context, prefix string, before time.Time,
	knows func(ctx context.Context, id string) (bool, error),
) error {
	for info, err := range s.Blobs.List(ctx, prefix) {
		if err != nil {
			return fmt.Errorf("list segments: %w", err)
		}
		if info.ModTime.After(before) {
			continue // its record may be about to be written
		}
		known, err := knows(ctx, info.Key[strings.LastIndexByte(info.Key, '/')+1:])
		if err != nil {
			return err
		}
		if !known {
			if err := s.Blobs.Delete(ctx, info.Key); err != nil {
				return fmt.Errorf("delete orphan: %w", err)
			}
		}
	}
	return nil
}
