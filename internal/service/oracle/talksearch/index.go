package talksearch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/textindex/segmentsize"
	"github.com/castalia-org/castalia/internal/platform/textindex/shelf"
)

const (
	indexPause = 5 * time.Second
	// A session is indexed when it was quiet for a while, or has many messages that wait.
	// What waits is found all the same, and one segment for many messages costs less.
	quietFor   = 30 * time.Second
	manyUnread = 64
	// Owners have their turn in pages of indexPage.
	indexPage = 64
	// What is indexed of an owner at once.
	sliceTalks    = 256
	sliceMessages = 2000
	sliceBytes    = 4 << 20

	tidyPause = 15 * time.Second
	tidyPage  = 16
	// lostFor is how long text that nobody may find stays in a segment.
	lostFor = time.Minute
	// deadFor is how long the object of a segment stays for those who read it.
	deadFor = time.Hour
)

// RunIndexer keeps indexes up to date until ctx ends. Several may run: what one has
// read, another cannot save.
func (s *Service) RunIndexer(ctx context.Context) error {
	if s.shelf.Blobs == nil {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(indexPause)
	defer tick.Stop()
	tidied, swept := time.Time{}, time.Time{}
	for {
		more, err := s.IndexOnce(ctx)
		if now := s.now(); now.Sub(tidied) >= tidyPause {
			tidied = now
			err = errors.Join(err, s.TidyOnce(ctx))
			if now.Sub(swept) >= deadFor/2 {
				swept = now
				err = errors.Join(err, s.shelf.Sweep(ctx, s.store.IndexGraves(), now.Add(-deadFor)))
			}
		}
		if err != nil && ctx.Err() == nil {
			s.log.Warn("index conversations", slog.String("event", "talks.index_failed"), slog.Any("error", err))
		}
		if more && err == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// IndexOnce reads one slice of every owner whose sessions wait, and reports whether there
// may be more. What cannot be read for now keeps its place; it does not hold up others.
func (s *Service) IndexOnce(ctx context.Context) (more bool, err error) {
	before := s.now().Add(-quietFor)
	owners, err := shelf.NextTurn(ctx, &s.indexing, indexPage, func(owner string) string { return owner },
		func(ctx context.Context, after string, limit int) ([]string, error) {
			return s.store.Unread(ctx, before, manyUnread, after, limit)
		})
	if err != nil {
		return false, fmt.Errorf("find conversations to index: %w", err)
	}
	more = len(owners) > 0
	return s.each(ctx, owners, more, s.indexSlice)
}

// each does something for owners. Somebody else who was faster is no failure, but a
// reason to wait.
func (s *Service) each(ctx context.Context, owners []string, more bool,
	do func(ctx context.Context, owner string) error,
) (bool, error) {
	var errs []error
	for _, owner := range owners {
		err := do(ctx, owner)
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case fault.Is(err, fault.Conflict):
			more = false
		case err != nil && !s.mend(ctx, owner, err):
			errs = append(errs, err)
		}
	}
	return more, errors.Join(errs...)
}

func (s *Service) indexSlice(ctx context.Context, owner string) error {
	at, err := s.store.Stand(ctx, owner, Look{Messages: sliceMessages, Bytes: sliceBytes})
	if err != nil {
		return err
	}
	b, read, err := build(owner, at, sliceTalks)
	if err != nil {
		return err
	}
	vault, err := s.vault(owner, &at.Index)
	if err != nil {
		return err
	}
	var segment *shelf.Record
	if b.Passages() > 0 {
		var plain bytes.Buffer
		if _, err := b.WriteTo(&plain); err != nil {
			return fmt.Errorf("build index: %w", err)
		}
		if segment, err = s.shelf.Put(ctx, vault, owner, &plain, b.Passages(), s.now()); err != nil {
			return err
		}
	}
	return s.store.SaveIndex(ctx, owner, at.Index.WrappedKey, read, segment, s.now())
}

// TidyOnce joins segments of owners who have many, and destroys what was deleted.
func (s *Service) TidyOnce(ctx context.Context) error {
	lostBefore := s.now().Add(-lostFor)
	owners, err := shelf.NextTurn(ctx, &s.tidying, tidyPage, func(owner string) string { return owner },
		func(ctx context.Context, after string, limit int) ([]string, error) {
			return s.store.DirtyIndexes(ctx, segmentsize.Many, segmentsize.Tiers(false), lostBefore, after, limit)
		})
	if err != nil {
		return fmt.Errorf("find indexes of conversations to tidy: %w", err)
	}
	_, err = s.each(ctx, owners, false, s.tidy)
	return err
}

func (s *Service) tidy(ctx context.Context, owner string) error {
	at, err := s.store.Stand(ctx, owner, Look{Segments: true})
	if err != nil || at.Index.WrappedKey == nil {
		return err
	}
	live := make(map[string]bool, len(at.Talks))
	for _, t := range at.Talks {
		live[t.ID] = true
	}
	vault, err := s.vault(owner, &at.Index)
	if err != nil {
		return err
	}
	var held []shelf.Held
	for _, g := range at.Segments {
		segment, err := s.openSegment(vault, g)
		if err != nil {
			return err
		}
		h := shelf.Held{Record: g}
		if err := segment.EachDocument(func(name string, _, _ uint32) error {
			if !live[sessionOf(name)] {
				h.Lost = append(h.Lost, name)
			}
			return nil
		}); err != nil {
			return fmt.Errorf("list documents of segment: %w", err)
		}
		held = append(held, h)
	}
	_, err = s.shelf.Tidy(ctx, vault, owner, held, segmentsize.Tiers(false), s.now(), keeper{s, owner, at.Index.Revision})
	return err
}

// keeper keeps the segments of an owner as they were at a revision.
type keeper struct {
	*Service
	owner    string
	revision int64
}

func (k keeper) DestroyLater(ctx context.Context, until time.Time) error {
	return k.store.DestroyLater(ctx, k.owner, k.revision, until)
}

func (k keeper) Replace(ctx context.Context, old []shelf.Held, by *shelf.Record, settled bool) error {
	err := k.store.ReplaceSegments(ctx, k.owner, old, by, k.revision, settled, k.now())
	if err == nil {
		k.close(k.owner)
	}
	return err
}
