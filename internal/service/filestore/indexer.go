package filestore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
)

// The indexer reads the feed in pages, and writes a few files at a time so that
// nobody waits for it.
const (
	indexPage  = 64
	indexSlice = 8
	indexPause = time.Second
)

// RunIndexer keeps the search index up to date until ctx ends. Several may run:
// the cursor lets only one of them write.
func (s *Service) RunIndexer(ctx context.Context) error {
	tick := time.NewTicker(indexPause)
	defer tick.Stop()
	for {
		more, err := s.IndexOnce(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.Warn("index files", slog.Any("error", err))
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

// IndexOnce reads one page of every namespace that has changes, and reports
// whether there may be more. What can not be read for now keeps its place; it
// does not hold up the other namespaces.
func (s *Service) IndexOnce(ctx context.Context) (more bool, err error) {
	behind, err := s.store.IndexBehind(ctx, indexPage)
	if err != nil {
		return false, fmt.Errorf("find changes to index: %w", err)
	}
	more = len(behind) > 0
	var errs []error
	for _, at := range behind {
		err := s.indexPage(ctx, at)
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case fault.Is(err, fault.Conflict):
			more = false // another node was faster, and may be at the next page
		case err != nil:
			errs = append(errs, fmt.Errorf("index changes of %s: %w", at.Namespace, err))
		}
	}
	return more, errors.Join(errs...)
}

func (s *Service) indexPage(ctx context.Context, at IndexCursor) error {
	scope := Scope{Namespace: at.Namespace, Areas: []vfspath.Area{vfspath.Whole()}}
	events, newest, err := s.store.Events(ctx, scope, at.Seq, indexSlice)
	if err != nil {
		return err
	}
	to := newest
	if len(events) == indexSlice {
		to = events[len(events)-1].Seq
	}
	if to <= at.Seq {
		return nil
	}
	var files []Indexed
	var gone []string
	seen := map[string]bool{}
	for _, e := range events {
		if seen[e.FileID] || e.FileID == "" {
			continue
		}
		seen[e.FileID] = true
		f, err := s.store.FileByID(ctx, scope, e.FileID)
		if fault.Is(err, fault.NotFound) {
			gone = append(gone, e.FileID)
			continue
		}
		if err != nil {
			return err
		}
		indexed, err := s.indexFile(ctx, f)
		if err != nil {
			return err
		}
		files = append(files, indexed)
	}
	return s.store.SaveIndex(ctx, at, to, files, gone)
}

// indexFile reads the words of a file. What can not be read, or is not text, is
// known by its name alone.
func (s *Service) indexFile(ctx context.Context, f File) (Indexed, error) {
	keys, err := s.keys.namespace(ctx, f.Namespace)
	if err != nil {
		return Indexed{}, err
	}
	t := termIndex{terms: map[string]*termLines{}}
	t.add(0, f.Path)
	if f.Size <= maxIndexed {
		err := s.indexText(ctx, f, &t)
		switch {
		case err == nil, errors.Is(err, errBinary):
		case ctx.Err() != nil:
			return Indexed{}, err
		case fault.Is(err, fault.Unavailable), fault.Is(err, fault.Timeout), fault.Is(err, fault.Canceled):
			return Indexed{}, err // the store is away: try again later
		default:
			s.log.Warn("file can not be indexed", slog.String("file_id", f.ID), slog.Any("error", err))
		}
	}
	return Indexed{FileID: f.ID, Version: f.Version, Words: t.words, Postings: t.postings(keys.index)}, nil
}

func (s *Service) indexText(ctx context.Context, f File, t *termIndex) error {
	o, err := s.open(ctx, f.Content)
	if err != nil {
		return err
	}
	return eachLine(o, func(number int, line string, _ bool) bool {
		t.add(number, line)
		return true
	})
}
