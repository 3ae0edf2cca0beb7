package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/platform/textindex/segmentsize"
	"github.com/castalia-org/castalia/internal/platform/textindex/shelf"
	"github.com/castalia-org/castalia/internal/protocol/seal"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
)

const (
	tidyPause = 15 * time.Second
	tidyPage  = 16
	// lostFor is how long text that nobody may find stays in a segment.
	lostFor = time.Minute
	// deadFor is how long the object of a segment stays for those who read it.
	deadFor = time.Hour
)

// TidyOnce joins segments of the namespaces that have many, and destroys what was
// taken out of the index.
func (s *Service) TidyOnce(ctx context.Context) error {
	lostBefore := s.files.Now().Add(-lostFor)
	dirty, err := shelf.NextTurn(ctx, &s.tidying, tidyPage, func(ns string) string {
		return ns
	}, func(ctx context.Context, after string, limit int) ([]string, error) {
		return s.store.IndexDirty(ctx, segmentsize.Many, segmentsize.Tiers(false), lostBefore, after, limit)
	})
	if err != nil {
		return fmt.Errorf("find indexes to tidy: %w", err)
	}
	var errs []error
	for _, ns := range dirty {
		err := s.tidy(ctx, ns)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !fault.Is(err, fault.Conflict) {
			errs = append(errs, fmt.Errorf("tidy index of %s: %w", ns, err))
		}
	}
	return errors.Join(errs...)
}

// Sweep deletes the objects of segments that nobody needs any more.
func (s *Service) Sweep(ctx context.Context) error {
	return s.shelf.Sweep(ctx, s.store.IndexGraves(), s.files.Now().Add(-deadFor))
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
		segment, err := s.open(vault, g)
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
	_, err = s.shelf.Tidy(ctx, vault, ns, held, segmentsize.Tiers(false), s.files.Now(), keeper{s, ns, at.Revision})
	return err
}

// keeper keeps the segments of a namespace as they were at a revision.
type keeper struct {
	*Service
	ns       string
	revision int64
}

func (k keeper) DestroyLater(ctx context.Context, until time.Time) error {
	return k.store.DestroyIndexedLater(ctx, k.ns, k.revision, until)
}

func (k keeper) Replace(ctx context.Context, old []shelf.Held, by *shelf.Record, settled bool) error {
	if err := k.store.ReplaceSegments(ctx, k.ns, old, by, k.revision, settled, k.files.Now()); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, h := range old {
		k.opened.Drop(k.ns, h.ID)
	}
	k.forget(func(_ string, r *reading) bool { return r.namespace == k.ns })
	return nil
}

// open opens a segment, unless it is open.
func (s *Service) open(vault seal.Vault, g shelf.Record) (*textindex.Segment, error) {
	s.mu.Lock()
	segment := s.opened.Find(g.Collection, g.ID)
	s.mu.Unlock()
	if segment != nil {
		return segment, nil
	}
	segment, err := s.shelf.Open(vault, g, s.pages)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	gone := s.opened.Add(g.Collection, g.ID, segment)
	s.forget(func(_ string, r *reading) bool { return slices.Contains(gone, r.namespace) })
	return segment, nil
}
