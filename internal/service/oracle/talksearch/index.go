package talksearch

import (
	"bytes"
	"context"
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
)

// RunIndexer keeps indexes up to date until ctx ends. Several may run: what one has
// read, another cannot save.
func (s *Service) RunIndexer(ctx context.Context) error {
	if s.shelf.Blobs == nil {
		<-ctx.Done()
		return nil
	}
	return shelf.Work{
		Index: s.IndexOnce, Pause: indexPause, Tidy: s.TidyOnce, Now: s.now,
		Sweep: func(ctx context.Context) error { return s.shelf.SweepDead(ctx, s.store.IndexShelf(), s.now()) },
		Failed: func(err error) {
			s.log.Warn("conversations could not be indexed", slog.String("event", "talks.index_failed"), slog.Any("error", err))
		},
	}.Run(ctx)
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
	outrun, err := shelf.Each(ctx, owners, s.mending(s.indexSlice))
	return len(owners) > 0 && !outrun && ctx.Err() == nil, err
}

// mending does something for an owner, whose index is made anew if it cannot be opened.
func (s *Service) mending(do func(context.Context, string) error) func(ctx context.Context, owner string) error {
	return func(ctx context.Context, owner string) error {
		err := do(ctx, owner)
		if err != nil && ctx.Err() == nil && !fault.Is(err, fault.Conflict) && s.mend(ctx, owner, err) {
			return nil
		}
		return err
	}
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
	return shelf.TidyOnce(ctx, &s.tidying, s.store.IndexShelf(), s.now(), s.mending(s.tidy))
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
		segment, err := s.opened.Open(vault, g)
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
	kept := shelf.Kept{
		Records: s.store.IndexShelf(), Collection: owner, Revision: at.Index.Revision, Now: s.now,
		Replaced: func([]shelf.Held) { s.close(owner) },
	}
	_, err = s.shelf.Tidy(ctx, vault, owner, held, segmentsize.Tiers(false), s.now(), kept)
	return err
}
