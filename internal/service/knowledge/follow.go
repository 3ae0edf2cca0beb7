package knowledge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
)

const (
	followPause = time.Second // between two looks without a hint
	followPage  = 64
)

// RunFollower takes in what happens to files until ctx ends. Several may run: each
// page is stored by one of them.
func (s *Service) RunFollower(ctx context.Context) error {
	clock := s.Quiet.Sleeper(followPause)
	defer clock.Stop()
	for {
		bell := s.wake.next()
		clock.Look()
		more, err := s.FollowOnce(ctx)
		if ctx.Err() != nil {
			return nil // it was told to stop
		}
		if err != nil {
			s.Logger.Warn("files of knowledge could not be followed", slog.String("event", "knowledge.follow_failed"), slog.Any("error", err))
		}
		if more && err == nil {
			s.changed()
			continue
		}
		clock.Rest(err == nil)
		if !woken(ctx, bell, clock.C) {
			return nil
		}
	}
}

// FollowOnce reads one page of everything that is behind, and reports whether it
// found something. A namespace that cannot be read does not hold up the others.
func (s *Service) FollowOnce(ctx context.Context) (more bool, err error) {
	var errs []error
	scans, err := s.Store.Unscanned(ctx, followPage)
	if err != nil {
		return false, fmt.Errorf("find new collections: %w", err)
	}
	for _, at := range scans {
		err := s.scan(ctx, at)
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case err == nil || fault.Is(err, fault.Conflict): // another node, or the feed, was faster
			more = true
		default:
			errs = append(errs, fmt.Errorf("look at the files of collection %s: %w", at.Collection.ID, err))
		}
	}
	owners, err := s.Store.Owners(ctx)
	if err != nil {
		return false, fmt.Errorf("find owners: %w", err)
	}
	for _, at := range owners {
		moved, err := s.follow(ctx, at)
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case fault.Is(err, fault.Conflict):
		case err != nil:
			errs = append(errs, fmt.Errorf("follow a namespace: %w", err))
		default:
			more = more || moved
		}
	}
	return more, errors.Join(errs...)
}

// scan takes in a page of the files that were in a folder before it was a collection.
func (s *Service) scan(ctx context.Context, at Scan) error {
	c := at.Collection
	files, err := s.Files.Below(ctx, c.Namespace, c.Folder, at.Through, followPage)
	if err != nil {
		return err
	}
	through, done := at.Through, len(files) < followPage
	if len(files) > 0 {
		through = files[len(files)-1].Path
	}
	kept := files[:0]
	for _, f := range files {
		if inside(c, f) {
			kept = append(kept, f)
		}
	}
	return s.Store.SaveScan(ctx, at, kept, through, done)
}

// inside reports whether a file belongs to a collection.
func inside(c Collection, f File) bool {
	return vfspath.Below(c.Folder).Contains(f.Path) && !vfspath.IsHidden(f.Path)
}

// follow takes in a page of a namespace's feed, and reports whether there was one.
func (s *Service) follow(ctx context.Context, at Owner) (bool, error) {
	ids, next, err := s.Files.Changes(ctx, at.Namespace, at.Seq, followPage)
	if err != nil || next <= at.Seq {
		return false, err
	}
	collections, err := s.Store.FoldersOf(ctx, at.Namespace)
	if err != nil {
		return false, err
	}
	changes := make([]FileChange, 0, len(ids))
	for _, id := range ids {
		change := FileChange{File: File{ID: id}}
		f, err := s.Files.File(ctx, at.Namespace, id)
		switch {
		case fault.Is(err, fault.NotFound): // in no collection any more
		case err != nil:
			return false, err
		default:
			change.File = f
			for _, c := range collections {
				if inside(c, f) {
					change.In = append(change.In, c.ID)
				}
			}
		}
		changes = append(changes, change)
	}
	return true, s.Store.SaveChanges(ctx, at, next, changes, s.Now())
}
