package knowledge

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/platform/textindex/vector"
)

const (
	// nearPassages is how many passages join those that words find.
	nearPassages = 50
	// fewVectors is up to how many vectors say nothing about what is usual.
	fewVectors = 20
)

// alike is what of a reading means about the same as a question.
type alike struct {
	question vector.Question
	sets     map[string][]*vector.Set // by collection
	near     []textindex.Key
	usual    vector.Spread
}

// alike compares a question with the vectors of what the caller may read, and
// returns nil where there are none, or the embedder is out: words have to do then.
func (s *Service) alike(ctx context.Context, r *reading, text string) *alike {
	if s.Embedder == nil || !r.hasVectors() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	a, err := s.compare(ctx, r, text)
	if err != nil {
		s.embeds.byWords.Add(1)
		s.Logger.Debug("a question is answered by words alone", slog.Any("error", err))
		return nil
	}
	return a
}

func (r *reading) hasVectors() bool {
	for _, o := range r.open {
		if len(o.vectors) > 0 {
			return true
		}
	}
	return false
}

func (s *Service) compare(ctx context.Context, r *reading, text string) (*alike, error) {
	asked, err := s.embedQuestion(ctx, text)
	if err != nil {
		return nil, err
	}
	a := &alike{question: vector.NewQuestion(asked), sets: map[string][]*vector.Set{}}
	type match struct {
		key    textindex.Key
		cosine float64
	}
	var all []match
	room := int64(vectorBytes)
	for _, c := range r.collections {
		o := r.open[c.ID]
		if o == nil {
			continue
		}
		allowed := func(generation string) bool {
			_, live := o.docs[generation]
			return live && r.scope[c.ID].Has(generation)
		}
		for _, g := range o.segments {
			v, there := o.vectors[g.ID]
			if !there || v.Size > room {
				continue
			}
			room -= v.Size
			set, err := s.vectors.open(ctx, c, v)
			if err != nil {
				return nil, err
			}
			a.sets[c.ID] = append(a.sets[c.ID], set)
			found, usual := set.Nearest(a.question, nearPassages, allowed)
			a.usual = a.usual.Add(usual)
			for _, m := range found {
				all = append(all, match{textindex.Key{Collection: c.ID, Document: m.Document, Number: m.Number}, m.Cosine})
			}
		}
	}
	slices.SortFunc(all, func(x, y match) int { return cmp.Or(cmp.Compare(y.cosine, x.cosine), x.key.Compare(y.key)) })
	for _, m := range all[:min(len(all), nearPassages)] {
		a.near = append(a.near, m.key)
	}
	return a, nil
}

// restingError is why an embedder that has failed is not asked.
type restingError struct{ until time.Time }

// Error says until when.
func (e restingError) Error() string {
	return "the embedder has failed and is not asked until " + e.until.Format(time.TimeOnly)
}

// embedQuestion asks the embedder, unless it failed a moment ago: an outage must not
// make every question wait.
func (s *Service) embedQuestion(ctx context.Context, text string) ([]float32, error) {
	e := &s.embeds
	e.mu.Lock()
	until := e.restUntil
	e.mu.Unlock()
	if s.Now().Before(until) {
		return nil, restingError{until}
	}
	vectors, err := s.Embedder.Embed(ctx, []string{text})
	if err != nil {
		e.failures.Add(1)
		if !errors.Is(context.Cause(ctx), context.Canceled) { // whoever left says nothing about the embedder
			e.mu.Lock()
			e.restUntil = s.Now().Add(embedRest)
			e.mu.Unlock()
		}
		return nil, err
	}
	e.questions.Add(1)
	return vectors[0], nil
}

// likeness says how near a passage is among all that were compared: 0 is as near as
// the mean, and 1 as the nearest of as many that have nothing to do with the question
// would be by chance. What a cosine means differs from model to model; this does so
// less.
func (a *alike) likeness(key textindex.Key) (float64, bool) {
	n := float64(a.usual.N)
	if a.usual.N < fewVectors {
		return 0, false
	}
	mean := a.usual.Sum / n
	deviation := math.Sqrt(max(a.usual.Squares/n-mean*mean, 0))
	if deviation < 1e-6 {
		return 0, false
	}
	for _, set := range a.sets[key.Collection] {
		if cosine, known := set.Cosine(a.question, key.Document, key.Number); known {
			return (cosine - mean) / deviation / math.Sqrt(2*math.Log(n)), true
		}
	}
	return 0, false
}
