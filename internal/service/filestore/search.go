package filestore

import (
	"context"
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
	terms, err := s.terms(ctx, a.Namespace, text)
	if err != nil {
		return SearchResult{}, err
	}
	out := SearchResult{}
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
	counts, err := s.store.TermFiles(ctx, scope, terms)
	if err != nil {
		return SearchResult{}, err
	}
	for _, f := range found {
		out.Hits = append(out.Hits, rank(f, counts))
	}
	sort.SliceStable(out.Hits, func(i, j int) bool { return out.Hits[i].Score > out.Hits[j].Score })
	out.Hits = out.Hits[:min(len(out.Hits), limit)]
	for i := range out.Hits {
		s.preview(ctx, &out.Hits[i])
	}
	return out, ctx.Err()
}

// terms hashes the words of a query.
func (s *Service) terms(ctx context.Context, ns, text string) ([][]byte, error) {
	keys, err := s.keys.namespace(ctx, ns)
	if err != nil {
		return nil, err
	}
	var terms [][]byte
	seen := map[string]bool{}
	words(text, func(w string) {
		if !seen[w] && len(terms) < maxSearchTerms {
			seen[w] = true
			terms = append(terms, hashTerm(keys.index, w))
		}
	})
	return terms, nil
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

// preview decrypts the lines of a hit. A file that can not be read has none.
func (s *Service) preview(ctx context.Context, h *Hit) {
	if h.LineStart == 0 {
		return
	}
	o, err := s.open(ctx, h.File.Content)
	if err != nil {
		return
	}
	var b strings.Builder
	_ = eachLine(o, func(number int, line string, _ bool) bool {
		if number >= h.LineStart {
			b.WriteString(line + "\n")
		}
		return number < h.LineEnd && b.Len() < maxPreview
	})
	h.Preview = clip(strings.TrimSpace(b.String()), maxPreview)
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
