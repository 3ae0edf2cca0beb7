package search

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/platform/textindex/shelf"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filename"
	"github.com/castalia-org/castalia/internal/service/filestore/filetext"
)

// Bounds of what is shown of a hit.
const (
	hitWindow  = 5 // lines
	maxPreview = 400
)

// Hit is a place that matches a search.
type Hit struct {
	File               filestore.File
	LineStart, LineEnd int // 0 when only the name matches
	Preview            string
	Score              float64
}

// Result is what a search found, and how far the index had read.
type Result struct {
	Hits           []Hit
	IndexedThrough int64
	// Behind counts the changes that the index has not read yet.
	Behind int64
	// Cut says what was left out, and why; nothing when all was looked at.
	Cut []string
}

// Search finds files that have all the words, or longer ones that begin with them,
// best first.
func (s *Service) Search(ctx context.Context, a filestore.Access, text, path string, limit int) (Result, error) {
	scope, err := a.Scope(filestore.Read)
	if err != nil {
		return Result{}, err
	}
	if text == "" || utf8.RuneCountInString(text) > MaxQuery {
		return Result{}, fault.Newf(fault.Invalid, "q must have 1 to %d characters", MaxQuery)
	}
	if path, err = filename.CleanFolder(path); err != nil {
		return Result{}, err
	}
	if err := s.files.CountUse(ctx, a); err != nil {
		return Result{}, err
	}
	done, err := begin(ctx, searchAnswer)
	if err != nil {
		return Result{}, err
	}
	defer done()
	r, err := s.reading(ctx, scope, path)
	if err != nil {
		return Result{}, err
	}
	out := Result{IndexedThrough: r.stand.Through, Behind: max(r.stand.Newest-r.stand.Through, 0)}
	found, err := textindex.NewSearcher(r.views, nil).Search(ctx, textindex.Query{
		Text: text, All: true, Part: true, Limit: limit, Scope: textindex.Scope{scope.Namespace: r.documents},
	})
	if err != nil {
		return Result{}, err
	}
	out.Cut = leftOut(limit, found)
	var shown []filestore.File
	for _, h := range found.Hits {
		id, _, _ := strings.Cut(h.Document, "/")
		f, err := s.store.FileByID(ctx, scope, id)
		if fault.Is(err, fault.NotFound) {
			continue // it is gone, or elsewhere, by now
		}
		if err != nil {
			return Result{}, err
		}
		out.Hits = append(out.Hits, show(f, h))
		shown = append(shown, f)
	}
	keep(ctx, weighFiles(shown))
	return out, ctx.Err()
}

// leftOut says what a search did not look for or does not show.
func leftOut(limit int, found textindex.Result) (cut []string) {
	if limit > textindex.MaxHits {
		cut = append(cut, fmt.Sprintf("at most %d files are shown", textindex.MaxHits))
	}
	if found.Cut {
		cut = append(cut, fmt.Sprintf("only the first %d words were looked for", textindex.MaxWords))
	}
	if found.Spent {
		cut = append(cut, "too many longer words fit: not all of them were looked for")
	}
	return cut
}

// show says where in a file a passage has the words.
func show(f filestore.File, h textindex.Hit) Hit {
	out := Hit{File: f, Score: math.Round(h.Score*1000) / 1000}
	first, n := binary.Uvarint(h.Meta)
	if n <= 0 || len(h.Words) == 0 {
		return out
	}
	from, to := bestLines(h)
	lines := strings.Split(h.Text, "\n")[from : to+1]
	out.LineStart, out.LineEnd = int(first)+from, int(first)+to //nolint:gosec // our own
	out.Preview = filetext.Clip(strings.TrimSpace(strings.Join(lines, "\n")), maxPreview)
	return out
}

// bestLines is the window of lines, counted from 0, that has most of the words: each
// word once in a line.
func bestLines(h textindex.Hit) (from, to int) {
	type vote struct{ line, word int }
	votes := map[vote]bool{}
	var lines []int
	line, at := 0, 0
	for _, w := range h.Words {
		line += strings.Count(h.Text[at:w.Start], "\n")
		at = w.Start
		if !votes[vote{line, w.Word}] {
			votes[vote{line, w.Word}] = true
			lines = append(lines, line)
		}
	}
	best := 0
	for i, first := range lines {
		sum, last := 0, first
		for _, n := range lines[i:] {
			if n >= first+hitWindow {
				break
			}
			sum, last = sum+1, n
		}
		if sum > best {
			best, from, to = sum, first, last
		}
	}
	return from, to
}

// reading is what of the index somebody may see, as it was at a stand. It does not
// change.
type reading struct {
	namespace string
	stand     filestore.IndexStand
	documents textindex.Documents
	size      int // how many documents
	views     []*textindex.View
}

const (
	// maxReadings bounds for how many scopes it is remembered what they may see, and
	// maxRemembered how many documents these are together.
	maxReadings   = 256
	maxRemembered = 500_000
	// pageCache is what a node keeps of segments' pages.
	pageCache = 32 << 20
)

// reading opens what a scope may see. What it may see is asked of the store, unless
// nothing has changed in the namespace since.
func (s *Service) reading(ctx context.Context, scope filestore.Scope, under string) (*reading, error) {
	at, err := s.store.IndexStand(ctx, scope.Namespace)
	if err != nil {
		return nil, err
	}
	key := readingKey(scope, under)
	s.mu.Lock()
	before := s.readings[key]
	s.mu.Unlock()
	if before != nil && before.stand == at {
		return before, nil
	}
	stand, files, segments, err := s.store.IndexedFiles(ctx, scope, under)
	if err != nil {
		return nil, err
	}
	s.closeOthers(scope.Namespace, segments, stand)
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = documentName(f.FileID, f.Seq)
	}
	now := &reading{
		namespace: scope.Namespace, stand: stand, documents: textindex.OnlyDocuments(names...), size: len(names),
	}
	if len(segments) == 0 {
		return now, nil
	}
	vault, err := s.vault(ctx, scope.Namespace)
	if err != nil {
		return nil, err
	}
	for _, g := range segments {
		segment, err := s.opened.Open(vault, g)
		if err != nil {
			return nil, err
		}
		view, err := segment.Without(nil)
		if err != nil {
			return nil, err
		}
		now.views = append(now.views, view)
	}
	s.remember(key, now, segments)
	return now, nil
}

// remember keeps a reading for the next who asks with its scope, unless one of its
// segments was closed meanwhile.
func (s *Service) remember(key string, now *reading, segments []shelf.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.opened.Has(now.namespace, idsOf(segments)) {
		return
	}
	s.forget(func(k string, _ *reading) bool { return k == key })
	if len(s.readings) >= maxReadings || s.remembered+now.size > maxRemembered {
		clear(s.readings)
		s.remembered = 0
	}
	if now.size <= maxRemembered {
		s.readings[key] = now
		s.remembered += now.size
	}
}

// forget drops readings, under the lock.
func (s *Service) forget(which func(key string, r *reading) bool) {
	for key, r := range s.readings {
		if which(key, r) {
			s.remembered -= r.size
			delete(s.readings, key)
		}
	}
}

// closeOthers closes what is open of a namespace beside the segments that it has, and
// drops what was read at another stand: it may have text that was taken back.
func (s *Service) closeOthers(ns string, segments []shelf.Record, at filestore.IndexStand) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened.Keep(ns, idsOf(segments))
	s.forget(func(_ string, r *reading) bool { return r.namespace == ns && r.stand != at })
}

func idsOf(segments []shelf.Record) []string {
	ids := make([]string, len(segments))
	for i, g := range segments {
		ids[i] = g.ID
	}
	return ids
}

// readingKey is one text for one scope. Paths have no NUL.
func readingKey(scope filestore.Scope, under string) string {
	parts := []string{scope.Namespace, under, strconv.FormatBool(scope.Limited)}
	parts = append(parts, scope.CIDs...)
	roots := func(all []vfspath.Root) {
		parts = append(parts, strconv.Itoa(len(all)))
		for _, r := range all {
			parts = append(parts, string(r))
		}
	}
	for _, a := range scope.Areas {
		parts = append(parts, "area", string(a.Root))
		roots(a.Reveal)
		parts = append(parts, strconv.Itoa(len(a.Named)))
		parts = append(parts, a.Named...)
	}
	return strings.Join(parts, "\x00")
}

// documentName is what the index calls a file as it was at a change.
func documentName(fileID string, seq int64) string { return fileID + "/" + strconv.FormatInt(seq, 10) }
