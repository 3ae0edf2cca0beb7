package search

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/platform/textindex/shelf"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filetext"
)

const (
	// The indexer reads the feed of indexPage namespaces in slices.
	indexPage  = 64
	indexSlice = 256
	// sliceText ends a slice early: bytes of text.
	sliceText  = 8 << 20
	indexPause = time.Second
	// patrolPage is how many namespaces are looked at for what was missed, each
	// quarter of a minute.
	patrolPage = 256
	// maxIndexed is the largest file whose text is found by search; others are found
	// by their names, and by grep.
	maxIndexed = 4 << 20
)

// RunIndexer keeps the search index up to date until ctx ends. Several may run:
// the cursor lets only one of them write.
func (s *Service) RunIndexer(ctx context.Context) error {
	return shelf.Work{
		Index: s.IndexOnce, Pause: indexPause, Quiet: s.quiet, Tidy: s.TidyOnce, Patrol: s.PatrolOnce, Sweep: s.Sweep,
		Now: s.files.Now,
		Failed: func(err error) {
			s.files.Log().Warn("files could not be indexed", slog.String("event", "index.failed"), slog.Any("error", err))
		},
	}.Run(ctx)
}

// IndexOnce reads one slice of every namespace that has changes, and reports
// whether it left some. What cannot be read for now keeps its place; it
// does not hold up the other namespaces. Changes that come meanwhile wait for
// the next time: read one by one, each would have a segment of its own.
func (s *Service) IndexOnce(ctx context.Context) (more bool, err error) {
	behind, err := shelf.NextTurn(ctx, &s.indexing, indexPage, func(c filestore.IndexCursor) string {
		return c.Namespace
	}, s.store.IndexBehind)
	if err != nil {
		return false, fmt.Errorf("find changes to index: %w", err)
	}
	more = len(behind) == indexPage
	outrun, err := shelf.Each(ctx, behind, func(ctx context.Context, at filestore.IndexCursor) error {
		left, err := s.readSlice(ctx, at)
		if err != nil {
			return fmt.Errorf("index changes of %s: %w", at.Namespace, err)
		}
		more = more || left
		return nil
	})
	return more && !outrun && ctx.Err() == nil, err
}

// PatrolOnce goes on with a slow round over all namespaces, for changes of which nobody
// told the indexer.
func (s *Service) PatrolOnce(ctx context.Context) error {
	next, err := s.store.IndexMissed(ctx, s.patrolled, patrolPage)
	if err != nil {
		return fmt.Errorf("look for changes that were missed: %w", err)
	}
	s.patrolled = next
	return nil
}

// readSlice reads a few changes, stores what the files say now as a segment, and reports
// whether it left some.
func (s *Service) readSlice(ctx context.Context, at filestore.IndexCursor) (left bool, err error) {
	scope := filestore.Scope{Namespace: at.Namespace, Areas: []vfspath.Area{vfspath.Whole()}}
	events, newest, err := s.store.Events(ctx, scope, at.Seq, indexSlice)
	if err != nil {
		return false, err
	}
	to := newest
	if len(events) == indexSlice {
		to = events[len(events)-1].Seq
	}
	if to <= at.Seq {
		return false, s.store.IndexRead(ctx, at) // whoever read it died before that, or it is being read
	}
	b := textindex.NewBuilder(at.Namespace)
	var files []filestore.Indexed
	var gone []string
	seen := map[string]bool{}
	for _, e := range events {
		if seen[e.FileID] || e.FileID == "" {
			continue
		}
		if b.Size() >= sliceText {
			to = e.Seq - 1
			break
		}
		seen[e.FileID] = true
		r, err := s.store.Reading(ctx, scope, filestore.Wanted{FileID: e.FileID})
		if fault.Is(err, fault.NotFound) {
			gone = append(gone, e.FileID)
			continue
		}
		if err != nil {
			return false, err
		}
		if err := s.addFile(ctx, b, r, e.Seq); err != nil {
			return false, err
		}
		f := r.File
		files = append(files, filestore.Indexed{FileID: f.ID, Seq: e.Seq, Path: f.Path, Version: f.Version})
	}
	segment, err := s.storeSegment(ctx, at.Namespace, b)
	if err != nil {
		return false, err
	}
	if err := s.store.SaveIndex(ctx, at, to, files, gone, segment, s.files.Now()); err != nil || to < newest {
		return to < newest, err
	}
	// Not in that transaction, which whoever writes to the namespace would defeat.
	return false, s.store.IndexRead(ctx, filestore.IndexCursor{Namespace: at.Namespace, Seq: to})
}

// storeSegment stores what a builder has; nil when it has nothing.
func (s *Service) storeSegment(ctx context.Context, ns string, b *textindex.Builder) (*shelf.Record, error) {
	if b.Passages() == 0 {
		return nil, nil //nolint:nilnil // there is no segment
	}
	vault, err := s.vault(ctx, ns)
	if err != nil {
		return nil, err
	}
	var plain bytes.Buffer
	if _, err := b.WriteTo(&plain); err != nil {
		return nil, fmt.Errorf("build index: %w", err)
	}
	return s.shelf.Put(ctx, vault, ns, &plain, b.Passages(), s.files.Now())
}

// addFile adds what a file says. What cannot be read, or is not text, is known by
// its name alone.
func (s *Service) addFile(ctx context.Context, b *textindex.Builder, r filestore.Reading, seq int64) error {
	f := r.File
	var c cutter
	if f.Size <= maxIndexed {
		err := s.cutText(ctx, r, &c)
		switch {
		case err == nil:
		case errors.Is(err, filetext.ErrBinary):
			c = cutter{}
		case ctx.Err() != nil:
			return err
		case fault.Is(err, fault.Unavailable), fault.Is(err, fault.Timeout), fault.Is(err, fault.Canceled):
			return err // the store is away: try again later
		default:
			s.files.Log().Warn("file cannot be indexed", slog.String("event", "index.file_refused"), slog.String("file_id", f.ID), slog.Any("error", err))
		}
	}
	pieces := c.end()
	if len(pieces) == 0 {
		pieces = []piece{{line: 1}} // its name can be found
	}
	for i, p := range pieces {
		if err := b.Add(textindex.Passage{
			Document: documentName(f.ID, seq), Number: uint32(i),
			//nolint:gosec // lines are positive
			Title: lastPart(f.Path, textindex.MaxHead), Text: p.text, Meta: binary.AppendUvarint(nil, uint64(p.line)),
		}); err != nil {
			return fmt.Errorf("index passage: %w", err)
		}
	}
	return nil
}

func (s *Service) cutText(ctx context.Context, r filestore.Reading, c *cutter) error {
	o, err := s.files.OpenReading(ctx, r)
	if err != nil {
		return err
	}
	return filetext.EachLine(o, func(number int, line string, _ bool) bool {
		c.add(number, line)
		return true
	})
}
