package knowledge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/platform/textindex/shelf"
	"github.com/castalia-org/castalia/internal/platform/textindex/vector"
)

// Embedder turns texts into vectors that are near to each other when the texts mean
// about the same.
type Embedder interface {
	// Model names what makes the vectors: those of different models are never compared.
	Model() string
	// Embed returns a vector for each text, all of one length. An error that is
	// ErrRefusedText is about the texts; any other is the embedder's.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// ErrRefusedText is what an Embedder says of texts that it does not take.
var ErrRefusedText = errors.New("the embedder does not take this text")

const (
	// embedBatch is how many passages are sent at a time, unless that takes too long:
	// then it is a part of them.
	embedBatch = 32
	embedLess  = 4
	// embedAtOnce is how many passages are embedded before a set is stored and
	// somebody else has a turn.
	embedAtOnce = 1024
	// embedText is how much of a passage is sent, in bytes.
	embedText  = 6000
	embedPause = 5 * time.Second
	// embedTimeout bounds one request about passages, askTimeout all that a question
	// waits for on behalf of its vector.
	embedTimeout = time.Minute
	askTimeout   = 2 * time.Second
	// embedRest is how long questions do without an embedder that has failed.
	embedRest = 10 * time.Second
	// otherModelFor is how long the vectors of another model are kept: nodes of a
	// fleet change theirs one after the other.
	otherModelFor = 24 * time.Hour
)

// EmbeddingStats counts what the embedder was asked.
type EmbeddingStats struct {
	Questions, Passages, Failures int64
	// ByWords counts the questions that were answered by words alone because the
	// embedder, or what it had made, was not there in time.
	ByWords int64
}

// embedding is how this node gets along with the embedder.
type embedding struct {
	mu        sync.Mutex
	restUntil time.Time
	batch     int // passages at a time; 0 is embedBatch

	questions, passages, failures, byWords atomic.Int64
}

// EmbeddingStats returns what the embedder was asked by this node.
func (s *Service) EmbeddingStats() EmbeddingStats {
	e := &s.embeds
	return EmbeddingStats{e.questions.Load(), e.passages.Load(), e.failures.Load(), e.byWords.Load()}
}

// Unembedded counts the segments and passages that wait for the embedder.
func (s *Service) Unembedded(ctx context.Context) (segments, passages int64, err error) {
	if s.Embedder == nil {
		return 0, 0, nil
	}
	return s.Store.Unembedded(ctx, s.shelf.model)
}

// RunEmbedder embeds what was read until ctx ends. Several may run.
func (s *Service) RunEmbedder(ctx context.Context) error {
	pause := embedPause
	for {
		bell := s.wake.next()
		did, err := s.EmbedOne(ctx, s.cfg.Node)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was told to stop
		}
		if err != nil {
			s.Logger.Warn("passages could not be embedded", slog.String("event", "knowledge.embed_failed"), slog.Any("error", err))
			bell, pause = nil, min(2*pause, 5*time.Minute)
		} else {
			pause = embedPause
		}
		if did && err == nil {
			continue
		}
		if !rest(ctx, bell, pause) {
			return nil
		}
	}
}

// EmbedOne embeds passages of one segment, and reports false when nothing is due.
// Whatever dies in the middle, somebody goes on from the last set that was stored.
func (s *Service) EmbedOne(ctx context.Context, holder string) (bool, error) {
	if s.Embedder == nil {
		return false, nil
	}
	w, ok, err := s.Store.TakeSegment(ctx, s.shelf.model, holder, workLease)
	if err != nil || !ok {
		return false, err
	}
	keep := func(ctx context.Context) error { return s.Store.KeepSegment(ctx, w, workLease) }
	err = whileHeld(ctx, keep, func(ctx context.Context) error { return s.embedSegment(ctx, w) })
	if fault.Is(err, fault.NotFound) {
		err = nil // the collection was deleted meanwhile
	}
	return true, ignoreLost(err)
}

func (s *Service) embedSegment(ctx context.Context, w EmbedWork) error {
	c, err := s.Store.Collection(ctx, Whole(w.Namespace), w.Collection)
	if err != nil {
		return err
	}
	at, err := s.shelf.collection(ctx, c)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(at.segments, func(g shelved) bool { return g.ID == w.Segment })
	if i < 0 {
		return nil // it was joined with others
	}
	var before *vector.Set
	if v, there := at.vectors[w.Segment]; there {
		if before, err = s.vectors.open(ctx, c, v); err != nil {
			s.Logger.Warn("vectors are made anew", slog.String("event", "knowledge.vectors_remade"), slog.Any("error", err))
			before = nil
		}
	}
	passages, more, err := unembedded(at.segments[i], before)
	if err != nil {
		return err
	}
	texts := make([]string, len(passages))
	for k, p := range passages {
		texts[k] = textOf(p)
	}
	vectors, failure := s.embedAll(ctx, texts)
	var set *VectorSet
	pause := embedPause
	if failure == nil || len(vectors) > 0 {
		if set, err = s.storeVectors(ctx, c, at, w, before, passages, vectors); err != nil {
			return err
		}
	}
	if failure == nil {
		set.Complete, pause = !more, 0
	}
	if err := s.Store.SaveVectors(ctx, w, set, pause); err != nil {
		return err
	}
	s.Hint()
	return failure
}

// unembedded are passages of a segment that a set does not have, and whether there
// are more.
func unembedded(g shelved, have *vector.Set) (out []textindex.Passage, more bool, err error) {
	gone := g.view.Gone()
	for i := range uint32(g.segment.Passages()) { //nolint:gosec // at most 2^31
		if gone.Has(i) {
			continue
		}
		p, err := g.segment.Passage(i)
		if err != nil {
			return nil, false, fmt.Errorf("read passage: %w", err)
		}
		if have != nil && have.Has(p.Document, p.Number) {
			continue
		}
		if len(out) == embedAtOnce {
			return out, true, nil
		}
		out = append(out, p)
	}
	return out, false, nil
}

// textOf is what of a passage is embedded.
func textOf(p textindex.Passage) string {
	text := p.Title + "\n" + p.Headings + "\n" + p.Text
	if len(text) <= embedText {
		return text
	}
	most := embedText
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// storeVectors stores a set with what there was and what is new. It may be empty: of a
// segment whose documents all changed nothing is left. A nil vector is of a passage that
// the embedder does not take.
func (s *Service) storeVectors(ctx context.Context, c Collection, at *opened, w EmbedWork, before *vector.Set,
	passages []textindex.Passage, vectors [][]float32,
) (*VectorSet, error) {
	dimensions := 1
	if before != nil {
		dimensions = before.Dimensions()
	}
	for _, v := range vectors {
		if v != nil {
			dimensions = len(v)
			break
		}
	}
	b := vector.NewBuilder(w.Model, dimensions)
	if before != nil { // one of other dimensions is made anew
		b.AddSet(before, func(generation string) bool { _, live := at.docs[generation]; return live })
	}
	for i, v := range vectors {
		err := b.Add(passages[i].Document, passages[i].Number, v)
		if errors.Is(err, vector.ErrVector) {
			err = b.AddNone(passages[i].Document, passages[i].Number)
		}
		if err != nil {
			return nil, fmt.Errorf("keep vector: %w", err)
		}
	}
	return s.vectors.put(ctx, c, w.Segment, b, w.Model, s.Now())
}

// embedAll returns the vectors of texts, as far as it came: those of the first ones,
// and why not of the others. A text that the embedder does not take has none.
func (s *Service) embedAll(ctx context.Context, texts []string) (out [][]float32, err error) {
	for len(out) < len(texts) {
		rest := texts[len(out):]
		batch := rest[:min(len(rest), s.embeds.atOnce())]
		began := s.Now()
		vectors, err := s.embedBatch(ctx, batch)
		if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) && len(batch) > 1 {
			s.embeds.takes(len(batch) / embedLess)
			continue
		}
		if err != nil {
			return out, err
		}
		out = append(out, vectors...)
		if len(batch) == s.embeds.atOnce() && s.Now().Sub(began) < embedTimeout/(2*embedLess) {
			s.embeds.takes(len(batch) * embedLess)
		}
	}
	return out, nil
}

// atOnce is how many passages the embedder manages in time: one on a small computer
// must not fail with the same batch for ever.
func (e *embedding) atOnce() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return cmp.Or(e.batch, embedBatch)
}

func (e *embedding) takes(passages int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.batch = min(max(passages, 1), embedBatch)
}

func (s *Service) embedBatch(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := s.embedTexts(ctx, texts)
	if !errors.Is(err, ErrRefusedText) {
		return vectors, err
	}
	out := make([][]float32, len(texts))
	taken := 0
	for i, text := range texts {
		one, err := s.embedTexts(ctx, []string{text})
		switch {
		case err == nil:
			out[i] = one[0]
			taken++
		case !errors.Is(err, ErrRefusedText):
			return nil, err
		}
	}
	if taken > 0 {
		return out, nil
	}
	// Is it all of these texts, or does it take none at all?
	if _, err := s.embedTexts(ctx, []string{"water"}); err != nil {
		return nil, fmt.Errorf("the embedder takes no text: %w", err)
	}
	return out, nil
}

func (s *Service) embedTexts(ctx context.Context, texts []string) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, embedTimeout)
	defer cancel()
	vectors, err := s.Embedder.Embed(ctx, texts)
	if err != nil {
		s.embeds.failures.Add(1)
		return nil, err
	}
	s.embeds.passages.Add(int64(len(texts)))
	return vectors, nil
}

// joinVectors stores the vectors of segments that become one, as far as they are
// there; nil when there are none. The rest is embedded later.
func (s *Service) joinVectors(ctx context.Context, c Collection, at *opened, old []shelf.Held,
	by string,
) (*VectorSet, error) {
	if s.vectors == nil {
		return nil, nil //nolint:nilnil // there are no vectors
	}
	var b *vector.Builder
	complete := true
	for _, h := range old {
		v, there := at.vectors[h.ID]
		if !there {
			complete = false
			continue
		}
		set, err := s.vectors.open(ctx, c, v)
		if err != nil {
			complete = false
			continue
		}
		if b == nil {
			b = vector.NewBuilder(s.shelf.model, set.Dimensions())
		}
		added := b.AddSet(set, func(generation string) bool { _, live := at.docs[generation]; return live })
		complete = complete && added && v.Complete
	}
	if b == nil || b.Len() == 0 {
		return nil, nil //nolint:nilnil // there are no vectors
	}
	joined, err := s.vectors.put(ctx, c, by, b, s.shelf.model, s.Now())
	if err != nil {
		return nil, err
	}
	joined.Complete = complete
	return joined, nil
}
