package knowledge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
)

// MaxPairs bounds the pairs of a collection: each node has them in memory.
const MaxPairs = 1000

// Pair is a question with the answer that people gave it. It belongs to a
// collection like a passage, and wins where the same is asked again.
type Pair struct {
	ID       string    `json:"-"`
	Question string    `json:"question"`
	Answer   string    `json:"answer"`
	Language string    `json:"language,omitempty"`
	Answered time.Time `json:"answered"`
}

// SealedPair is a pair at rest.
type SealedPair struct {
	ID     string
	Sealed []byte
}

// SealPair seals a pair for its collection.
func (s *Service) SealPair(c Collection, p Pair) (SealedPair, error) {
	plain, err := json.Marshal(p)
	if err != nil {
		return SealedPair{}, fmt.Errorf("encode pair: %w", err)
	}
	sealed, err := s.SealText(c, pairName(p.ID), plain)
	return SealedPair{p.ID, sealed}, err
}

func pairName(id string) string { return "pair\x00" + id }

// openedPairs is the piece of an index that has the pairs of a collection.
type openedPairs struct {
	ids  []string
	view *textindex.View // nil without pairs
}

// pairs opens the pairs of a collection, unless before has the same ones: a pair
// does not change.
func (s *bookcase) pairs(ctx context.Context, c Collection, before openedPairs) (openedPairs, error) {
	all, err := s.store.Pairs(ctx, c.ID)
	if err != nil || len(all) == 0 {
		return openedPairs{}, err
	}
	now := openedPairs{ids: make([]string, len(all))}
	for i, p := range all {
		now.ids[i] = p.ID
	}
	if slices.Equal(now.ids, before.ids) {
		return before, nil
	}
	b := textindex.NewBuilder(c.ID)
	for _, sealed := range all {
		plain, err := s.keys.openText(c, pairName(sealed.ID), sealed.Sealed)
		if err != nil {
			return openedPairs{}, fmt.Errorf("open pair: %w", err)
		}
		var p Pair
		if err := json.Unmarshal(plain, &p); err != nil {
			return openedPairs{}, fmt.Errorf("decode pair: %w", err)
		}
		meta, err := json.Marshal(place{Pair: true})
		if err != nil {
			return openedPairs{}, fmt.Errorf("encode place: %w", err)
		}
		err = b.Add(textindex.Passage{
			Document: sealed.ID, Language: analyse.Language(p.Language), Title: p.Question, Text: p.Answer, Meta: meta,
		})
		if err != nil {
			return openedPairs{}, fmt.Errorf("index pair: %w", err)
		}
	}
	var plain bytes.Buffer
	if _, err := b.WriteTo(&plain); err != nil {
		return openedPairs{}, fmt.Errorf("index pairs: %w", err)
	}
	segment, err := textindex.OpenBytes(plain.Bytes())
	if err != nil {
		return openedPairs{}, fmt.Errorf("open pairs: %w", err)
	}
	now.view, err = segment.Without(nil)
	return now, err
}

// sameQuestion is from which likeness on two questions ask the same.
const sameQuestion = 0.85

// likelyPairs is how many pairs are looked at for one that asks the same.
const likelyPairs = 5

// preferPair puts the pair first whose question is the one that was asked, and shows
// its answer whole. Pairs are searched for apart: a document that says much of the
// same would hide one among all others.
func (r *reading) preferPair(ctx context.Context, q textindex.Query, a *Answer) error {
	if len(r.pairs) == 0 {
		return nil
	}
	q.Limit = likelyPairs
	found, err := textindex.NewSearcher(r.pairs, r.synonyms).Search(ctx, q)
	if err != nil {
		return err
	}
	var first *Hit
	best := 0.0
	for _, h := range found.Hits {
		like := likeness(q.Text, h.Title, q.Language)
		source, ok := r.source(h.Collection, h.Document, int(h.Number), h.Title, h.Meta)
		if ok && like >= sameQuestion && like > best {
			best, first = like, &Hit{Source: source, Sentences: []string{h.Text}, Text: h.Text, Score: h.Score, Confidence: like}
		}
	}
	if first == nil {
		return nil
	}
	a.Hits = slices.DeleteFunc(a.Hits, func(h Hit) bool { return h.Pair && h.Document == first.Document })
	if len(a.Hits) > 0 {
		first.Score = max(first.Score, a.Hits[0].Score)
	}
	a.Hits = slices.Insert(a.Hits, 0, *first)
	a.Answered, a.Confidence = true, max(a.Confidence, best)
	return nil
}

// likeness is how much of two questions is the same, 0 to 1, apart from words that
// every question has.
func likeness(x, y string, language analyse.Language) float64 {
	if analyse.Asks(x) != analyse.Asks(y) {
		return 0
	}
	analyser := analyse.NewAnalyser()
	// Both are read in the languages of both: a short question may look like another.
	languages := analyse.Readings(x, language)
	for _, l := range analyse.Readings(y, language) {
		if !slices.Contains(languages, l) {
			languages = append(languages, l)
		}
	}
	a, b := tellingWords(analyser.Words(languages, x)), tellingWords(analyser.Words(languages, y))
	if len(a)+len(b) == 0 {
		return 0
	}
	shared := 0
	left := slices.Clone(b)
	for _, w := range a {
		at := slices.IndexFunc(left, func(v analyse.Word) bool {
			return slices.ContainsFunc(v.Forms, func(form string) bool { return slices.Contains(w.Forms, form) })
		})
		if at >= 0 {
			left = slices.Delete(left, at, at+1)
			shared++
		}
	}
	return 2 * float64(shared) / float64(len(a)+len(b))
}

// tellingWords leaves out stop words, unless there are no others.
func tellingWords(all []analyse.Word) []analyse.Word {
	telling := slices.DeleteFunc(slices.Clone(all), func(w analyse.Word) bool { return w.Stop })
	if len(telling) == 0 {
		return all
	}
	return telling
}
