package knowledgetest

import (
	"context"
	"errors"
	"hash/fnv"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"github.com/castalia-org/castalia/internal/service/knowledge"
)

// Embedder is a deterministic embedder: each word adds a direction of its own, and
// words that are said to mean the same add the same one. It tests the plumbing and
// says nothing about how well a real model finds.
type Embedder struct {
	// Name is the model's.
	Name string
	// Same says which word stands for another.
	Same map[string]string
	// Refused is a word whose texts are not taken.
	Refused string
	// Slow, if it is set, is how many texts at a time it manages before whoever asks has
	// waited long enough.
	Slow int
	// Down makes it fail.
	Down atomic.Bool

	mu    sync.Mutex
	texts []string
}

// dimensions of its vectors: enough that two words are hardly alike by chance.
const dimensions = 256

// Model implements knowledge.Embedder.
func (e *Embedder) Model() string { return e.Name }

// Asked returns the texts that it was given, and forgets them.
func (e *Embedder) Asked() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := e.texts
	e.texts = nil
	return out
}

var errDown = errors.New("the embedder is down")

// Embed implements knowledge.Embedder.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	e.mu.Lock()
	e.texts = append(e.texts, texts...)
	e.mu.Unlock()
	if e.Down.Load() {
		return nil, errDown
	}
	if e.Slow > 0 && len(texts) > e.Slow {
		return nil, context.DeadlineExceeded
	}
	var out [][]float32
	for _, text := range texts {
		if e.Refused != "" && strings.Contains(text, e.Refused) {
			return nil, knowledge.ErrRefusedText
		}
		out = append(out, e.embed(text))
	}
	return out, ctx.Err()
}

func (e *Embedder) embed(text string) []float32 {
	out := make([]float32, dimensions)
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		if other, ok := e.Same[w]; ok {
			w = other
		}
		h := fnv.New64a()
		_, _ = h.Write([]byte(e.Name + " " + w))
		state := h.Sum64()
		for i := range out {
			state = state*6364136223846793005 + 1442695040888963407
			out[i] += float32(int32(state>>32)) / math.MaxInt32
		}
	}
	return out
}
