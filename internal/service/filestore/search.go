package filestore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// Bounds of a search.
const (
	maxSearchTerms = 16
	searchPool     = 200 // files that are ranked
	hitWindow      = 5   // lines of a hit
	maxPreview     = 400
	previewWork    = 32 << 20 // bytes that are read to show lines
)

// Hit is a place that matches a search.
type Hit struct {
	File               File
	LineStart, LineEnd int // 0 when only the name matches
	Preview            string
	Score              float64
}

// SearchResult is what a search found, and how far the index had read.
type SearchResult struct {
	Hits           []Hit
	IndexedThrough int64
	// Behind counts the changes that the index has not read yet.
	Behind int64
	// Cut says what was left out, and why; nothing when all was looked at.
	Cut []string
}

// Search finds files that have all the words, best first.
func (s *Service) Search(ctx context.Context, a Access, text, path string, limit int) (SearchResult, error) {
	scope, err := a.scope(Read)
	if err != nil {
		return SearchResult{}, err
	}
	if text == "" || utf8.RuneCountInString(text) > MaxQuery {
		return SearchResult{}, fault.Newf(fault.Invalid, "q must have 1 to %d characters", MaxQuery)
	}
	if path, err = CleanFolder(path); err != nil {
		return SearchResult{}, err
	}
	if err := s.countUse(ctx, a); err != nil {
		return SearchResult{}, err
	}
	terms, whole, err := s.terms(ctx, a.Namespace, text)
	if err != nil {
		return SearchResult{}, err
	}
	out := SearchResult{}
	if !whole {
		out.Cut = append(out.Cut, fmt.Sprintf("only the first %d words were looked for", maxSearchTerms))
	}
	if out.IndexedThrough, err = s.store.IndexedThrough(ctx, a.Namespace); err != nil {
		return SearchResult{}, err
	}
	if _, newest, err := s.store.Events(ctx, scope, math.MaxInt64, 1); err == nil {
		out.Behind = max(newest-out.IndexedThrough, 0)
	}
	if len(terms) == 0 {
		return out, nil
	}
	found, err := s.store.Lookup(ctx, scope, path, terms, searchPool)
	if err != nil {
		return SearchResult{}, err
	}
	if len(found) == searchPool {
		out.Cut = append(out.Cut, fmt.Sprintf("only %d of the files that have all the words were ranked", searchPool))
	}
	counts, err := s.store.TermFiles(ctx, scope, terms)
	if err != nil {
		return SearchResult{}, err
	}
	for _, f := range found {
		out.Hits = append(out.Hits, rank(f, counts))
	}
	sort.SliceStable(out.Hits, func(i, j int) bool { return out.Hits[i].Score > out.Hits[j].Score })
	out.Hits = out.Hits[:min(len(out.Hits), limit)]
	work := budget{previewWork}
	for i := range out.Hits {
		err := s.preview(ctx, &work, &out.Hits[i])
		if errors.Is(err, errSpent) {
			out.Cut = append(out.Cut, fmt.Sprintf("lines are shown for the first %d files only", i))
			break
		}
		if err != nil {
			return SearchResult{}, err
		}
	}
	return out, ctx.Err()
}

// terms hashes the words of a query; whole tells that they are all there.
func (s *Service) terms(ctx context.Context, ns, text string) (terms [][]byte, whole bool, err error) {
	keys, err := s.keys.namespace(ctx, ns)
	if err != nil {
		return nil, false, err
	}
	seen := map[string]bool{}
	words(text, func(w string) { seen[w] = true })
	whole = len(seen) <= maxSearchTerms
	words(text, func(w string) {
		if seen[w] && len(terms) < maxSearchTerms {
			seen[w] = false
			terms = append(terms, hashTerm(keys.index, w))
		}
	})
	return terms, whole, nil
}

// rank scores a file (rare words count more, long files less) and picks the
// window of lines in which most of the words stand.
func rank(f Found, files []int64) Hit {
	h := Hit{File: f.File}
	length := 0.25 + 0.75*float64(f.Words)/300
	votes := map[int]int{}
	for i, p := range f.Terms {
		tf := float64(p.Count)
		h.Score += math.Log(1+1000/float64(1+files[i])) * tf / (tf + 1.2*length)
		for _, n := range unpackLines(p.Lines) {
			if n > 0 {
				votes[n]++
			}
		}
	}
	lines := make([]int, 0, len(votes))
	for n := range votes {
		lines = append(lines, n)
	}
	slices.Sort(lines)
	best := 0
	for i, first := range lines {
		sum, last := 0, first
		for _, n := range lines[i:] {
			if n >= first+hitWindow {
				break
			}
			sum, last = sum+votes[n], n
		}
		if sum > best {
			best, h.LineStart, h.LineEnd = sum, first, last
		}
	}
	h.Score = math.Round(h.Score*1000) / 1000
	return h
}

// preview decrypts the lines of a hit. A file that can not be read has none; it
// fails when the request has ended or the budget does not last.
func (s *Service) preview(ctx context.Context, work *budget, h *Hit) error {
	if h.LineStart == 0 {
		return nil
	}
	o, err := s.open(ctx, h.File.Content)
	if err != nil {
		return ctx.Err()
	}
	var b strings.Builder
	var spent error
	_ = eachLine(o, func(number int, line string, _ bool) bool {
		if spent = work.spend(ctx, int64(len(line)+1)); spent != nil {
			return false
		}
		if number >= h.LineStart {
			b.WriteString(line + "\n")
		}
		return number < h.LineEnd && b.Len() < maxPreview
	})
	if spent == nil {
		h.Preview = clip(strings.TrimSpace(b.String()), maxPreview)
	}
	return errors.Join(spent, ctx.Err())
}

// clip cuts a text at a character border.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
