package knowledge

import (
	"context"
	"time"

	"github.com/castalia-org/castalia/internal/platform/textindex/segmentsize"
	"github.com/castalia-org/castalia/internal/platform/textindex/shelf"
)

// tidy writes what a collection has to join or to destroy as one segment.
func (s *Service) tidy(ctx context.Context, c Collection) (int, error) {
	at, err := s.shelf.collection(ctx, c)
	if err != nil {
		return 0, err
	}
	vault, err := s.keys.vault(c)
	if err != nil {
		return 0, err
	}
	var held []shelf.Held
	for _, g := range at.segments {
		held = append(held, shelf.Held{Record: g.Segment, Lost: g.lost})
	}
	return s.shelf.segments.Tidy(ctx, vault, c.ID, held, segmentsize.Tiers(s.vectors != nil), s.Now(), keeper{s, c, at})
}

// keeper keeps the segments of a collection, with their vectors.
type keeper struct {
	*Service
	c  Collection
	at *opened
}

func (k keeper) DestroyLater(ctx context.Context, until time.Time) error {
	return k.Store.DestroyLater(ctx, k.c.ID, k.at.revision, until)
}

func (k keeper) Replace(ctx context.Context, old []shelf.Held, by *Segment, settled bool) error {
	var vectors *VectorSet
	if by != nil {
		var err error
		if vectors, err = k.joinVectors(ctx, k.c, k.at, old, by.ID); err != nil {
			return err
		}
	}
	return k.Store.Replace(ctx, k.c.ID, old, by, vectors, k.at.revision, settled, k.Now())
}
