package oracle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// The limits of a search.
const (
	maxSearch      = 200 // bytes
	maxSearchWords = 16
)

// How much of a message an excerpt shows, in characters, around the first word found.
const (
	excerptBefore = 40
	excerptAfter  = 120
)

// SearchQuery asks for sessions in which every word stands, in the title or in a message.
type SearchQuery struct {
	// Words are what to look for, without regard to case.
	Words         []string
	Limit, Offset int
}

// Hit is a session that a search found.
type Hit struct {
	Session
	// Excerpt is what a message says around the words; empty when only the title has them.
	Excerpt string
}

// Search lists the user's sessions that have every word of text in their title
// or messages, last changed first, and their true number.
func (s *Service) Search(ctx context.Context, owner, text string, limit, offset int) ([]Hit, int64, error) {
	words := strings.Fields(text)
	if len(text) > maxSearch || len(words) > maxSearchWords || !utf8.ValidString(text) {
		return nil, 0, fault.New(fault.Invalid,
			fmt.Sprintf("search must have at most %d words and %d bytes of UTF-8: leave out what is not needed", maxSearchWords, maxSearch))
	}
	hits, total, err := s.store.Search(ctx, owner, SearchQuery{Words: words, Limit: limit, Offset: offset})
	if err != nil {
		return nil, 0, fmt.Errorf("search sessions: %w", err)
	}
	for i := range hits {
		hits[i].Excerpt = excerpt(hits[i].Excerpt, words)
	}
	return hits, total, nil
}

// excerpt cuts the part of a message that has the first of the words in it, on
// one line.
func excerpt(text string, words []string) string {
	line := []rune(strings.Join(strings.Fields(text), " "))
	small, at := lower(line), len(line)
	for _, word := range words {
		at = min(at, index(small, lower([]rune(word))))
	}
	if at == len(line) {
		at = 0
	}
	from, to := max(0, at-excerptBefore), min(len(line), at+excerptAfter)
	for from > 0 && from < at && !unicode.IsSpace(line[from-1]) { // whole words read better
		from++
	}
	out := string(line[from:to])
	if from > 0 {
		out = "…" + out
	}
	if to < len(line) {
		out += "…"
	}
	return out
}

// lower returns small letters, as many as there are.
func lower(text []rune) []rune {
	out := make([]rune, len(text))
	for i, r := range text {
		out[i] = unicode.ToLower(r)
	}
	return out
}

// index returns where word begins in text; the length of text when it is not there.
func index(text, word []rune) int {
	for i := range len(text) - len(word) + 1 {
		if slices.Equal(text[i:i+len(word)], word) {
			return i
		}
	}
	return len(text)
}
