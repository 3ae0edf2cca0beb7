package textindex

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
)

// small is the one collection of a Small.
const small = "small"

// Small is an index of passages that is made when it is needed and lives in memory:
// for texts that are few, or that come with the program. It is immutable and safe
// for concurrent use.
type Small struct{ searcher *Searcher }

// NewSmall indexes passages, with synonyms or nil.
func NewSmall(passages []Passage, synonyms *analyse.Synonyms) (*Small, error) {
	if len(passages) == 0 {
		return &Small{NewSearcher(nil, synonyms)}, nil
	}
	b := NewBuilder(small)
	for _, p := range passages {
		if err := b.Add(p); err != nil {
			return nil, fmt.Errorf("index passage: %w", err)
		}
	}
	var out bytes.Buffer
	if _, err := b.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("write index: %w", err)
	}
	s, err := OpenBytes(out.Bytes())
	if err != nil {
		return nil, err
	}
	v, err := s.Without(nil)
	if err != nil {
		return nil, err
	}
	return &Small{NewSearcher([]*View{v}, synonyms)}, nil
}

// Search returns the passages that answer a question best.
func (s *Small) Search(ctx context.Context, question string, limit int) (Result, error) {
	return s.searcher.Search(ctx, Query{Text: question, Scope: Scope{small: AllDocuments()}, Limit: limit})
}

// Rank returns which of texts fit a query, the best first and of equals the earlier
// one, at most limit of them and never more than MaxHits.
func Rank(ctx context.Context, query string, texts []string, limit int, synonyms *analyse.Synonyms) ([]int, error) {
	passages := make([]Passage, len(texts))
	for i, text := range texts {
		passages[i] = Passage{Document: fmt.Sprintf("%09d", i), Text: cutText(text, MaxText)}
	}
	index, err := NewSmall(passages, synonyms)
	if err != nil {
		return nil, err
	}
	found, err := index.Search(ctx, query, limit)
	if err != nil {
		return nil, err
	}
	out := make([]int, len(found.Hits))
	for i, h := range found.Hits {
		if out[i], err = strconv.Atoi(h.Document); err != nil {
			return nil, fmt.Errorf("read place of text: %w", err)
		}
	}
	return out, nil
}
