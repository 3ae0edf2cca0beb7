package search

import (
	"context"
	"fmt"

	"github.com/castalia-org/castalia/internal/platform/textindex/segmentsize"
	"github.com/castalia-org/castalia/internal/platform/textindex/shelf"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
)

// TidyOnce joins segments of the namespaces that have many, and destroys what was
// taken out of the index.
func (s *Service) TidyOnce(ctx context.Context) error {
	return shelf.TidyOnce(ctx, &s.tidying, s.store.IndexShelf(), s.files.Now(),
		func(ctx context.Context, ns string) error {
			if err := s.tidy(ctx, ns); err != nil {
				return fmt.Errorf("tidy index of %s: %w", ns, err)
			}
			return nil
		})
}

// Sweep deletes the objects of segments that nobody needs any more.
func (s *Service) Sweep(ctx context.Context) error {
	return s.shelf.SweepDead(ctx, s.store.IndexShelf(), s.files.Now())
}

func (s *Service) tidy(ctx context.Context, ns string) error {
	scope := filestore.Scope{Namespace: ns, Areas: []vfspath.Area{vfspath.Whole()}}
	at, files, segments, err := s.store.IndexedFiles(ctx, scope, "/")
	if err != nil {
		return err
	}
	live := make(map[string]bool, len(files))
	for _, f := range files {
		live[documentName(f.FileID, f.Seq)] = true
	}
	s.closeOthers(ns, segments, at)
	vault, err := s.vault(ctx, ns)
	if err != nil {
		return err
	}
	var held []shelf.Held
	for _, g := range segments {
		segment, err := s.opened.Open(vault, g)
		if err != nil {
			return err
		}
		h := shelf.Held{Record: g}
		names, err := segment.Documents()
		if err != nil {
			return fmt.Errorf("list documents of segment: %w", err)
		}
		for _, name := range names {
			if !live[name] {
				h.Lost = append(h.Lost, name)
			}
		}
		held = append(held, h)
	}
	kept := shelf.Kept{Records: s.store.IndexShelf(), Collection: ns, Revision: at.Revision, Now: s.files.Now}
	kept.Replaced = func(old []shelf.Held) {
		for _, h := range old {
			s.opened.Drop(ns, h.ID)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.forget(func(_ string, r *reading) bool { return r.namespace == ns })
	}
	_, err = s.shelf.Tidy(ctx, vault, ns, held, segmentsize.Tiers(false), s.files.Now(), kept)
	return err
}
