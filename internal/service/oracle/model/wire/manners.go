package wire

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/plugin"
)

// Learned is what endpoints taught about their models, by the models' ids. M is
// a wire's manners: a value without parts.
type Learned[M comparable] struct {
	mu   sync.Mutex
	byID map[string]M
}

// Of is what is known of a model.
func (l *Learned[M]) Of(id string) M {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byID[id]
}

// Teach changes what is known of a model.
func (l *Learned[M]) Teach(id string, change func(M) M) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byID == nil {
		l.byID = map[string]M{}
	}
	l.byID[id] = change(l.byID[id])
}

// maxLessons bounds how often one request is made anew.
const maxLessons = 5

// Adapt asks, and asks again in other manners while the endpoint's refusal has a
// lesson: how it wants to be asked, and whether that holds for this request
// alone. A lesson that changes nothing ends it, as does anything that was said.
func (l *Learned[M]) Adapt(
	ctx context.Context, id string, sink func(plugin.Chunk),
	ask func(ctx context.Context, m M, sink func(plugin.Chunk)) (plugin.ModelResponse, error),
	lesson func(m M, e *model.Error) (next M, keep bool),
) (plugin.ModelResponse, error) {
	manners, said := l.Of(id), false
	heard := func(c plugin.Chunk) {
		said = true
		sink(c)
	}
	for n := 0; ; n++ {
		resp, err := ask(ctx, manners, heard)
		if err == nil || said || n == maxLessons || ctx.Err() != nil {
			return resp, err
		}
		e := model.From(err)
		if !refusedRequest(e.Status) || e.Kind == model.TooLong {
			return resp, err
		}
		next, keep := lesson(manners, e)
		if next == manners {
			return resp, err
		}
		if keep {
			l.Teach(id, func(known M) M {
				kept, _ := lesson(known, e)
				return kept
			})
		}
		manners = next
	}
}

// refusedRequest reports whether a status says that the request was wrong.
func refusedRequest(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusUnprocessableEntity || status == http.StatusNotFound
}

// RefusesState reports whether an endpoint refuses what it said itself: it was
// made by another model, behind another beginning, or is forgotten.
func RefusesState(e *model.Error) bool {
	text := strings.ToLower(e.Detail)
	for _, words := range []string{
		"invalid `signature`", "invalid signature", "thought signature is not valid", "invalid thought signature", "bound to a different conversation",
		"encrypted content", "encrypted_content", "items are not persisted", "thinking` blocks", "without its required following item",
		"without its required 'reasoning' item",
	} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}
