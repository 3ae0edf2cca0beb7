// Package causes tells operators what is wrong with a node, why, and since when.
//
// Each part of the node says what keeps it from working (platform/trouble), which is told
// with its code, and as a sentence in the language that the request asks for. A cause is
// remembered from when it was first seen until it is gone; parts that are cheap to
// ask are asked all the time, so that "since" does not begin with the first look. A part
// that does not answer in time is in trouble by that alone: nothing is called well that
// nobody has seen well.
package causes

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/platform/trouble"
	"github.com/castalia-org/castalia/internal/platform/words"
	"github.com/castalia-org/castalia/internal/platform/words/wordshttp"
)

const (
	// interval is how often cheap parts are asked.
	interval = 15 * time.Second
	// lookLimit bounds how long a part may take to say how it is.
	lookLimit = 5 * time.Second
)

// Part is something that can be in trouble.
type Part struct {
	Name string
	// Needed says that the node gets no requests while the part is in trouble.
	Needed bool
	// Costly parts are asked only when somebody wants to know.
	Costly bool
	// Look returns what is wrong; nothing means that the part works. It ends with its
	// context.
	Look func(ctx context.Context) []*trouble.Trouble
}

// Database is the part that everything stands on. stuck says why it takes no writes,
// short that it works with less than it wants.
func Database(ping func(context.Context) error, stuck func() *trouble.Trouble, short func() bool) Part {
	return Part{Name: "database", Needed: true, Look: func(ctx context.Context) []*trouble.Trouble {
		if ping(ctx) != nil {
			return []*trouble.Trouble{trouble.New("health.unanswered", nil)}
		}
		if why := stuck(); why != nil {
			return []*trouble.Trouble{why}
		}
		if short() {
			return []*trouble.Trouble{trouble.New("health.connections", nil)}
		}
		return nil
	}}
}

// Storage is the disk of the data folder.
func Storage(full func() bool) Part {
	return Part{Name: "storage", Needed: true, Look: func(context.Context) []*trouble.Trouble {
		if full() {
			return []*trouble.Trouble{trouble.New("health.disk", nil)}
		}
		return nil
	}}
}

// Cause is why a part is in trouble.
type Cause struct {
	// Text is the whole in the language of the answer.
	Text  string `json:"text"`
	Since string `json:"since"`
	Reason
	// Because is what is wrong with what the reason names.
	Because *Reason `json:"because,omitempty"`
	// Detail is what whoever failed said.
	Detail string `json:"detail,omitempty"`
}

// Reason is one sentence of a cause, for who says it in words of their own.
type Reason struct {
	Code   string            `json:"code"`
	Values map[string]string `json:"values,omitempty"`
}

func reasonOf(t *trouble.Trouble) Reason { return Reason{t.Code(), t.Values()} }

// PartBody is a part as operators see it.
type PartBody struct {
	Name   string  `json:"name"`
	OK     bool    `json:"ok"`
	Needed bool    `json:"needed"`
	Causes []Cause `json:"causes"`
}

// Report is the body of GET /operator/health.
type Report struct {
	OK    bool       `json:"ok"`
	Parts []PartBody `json:"parts"`
}

// Watch remembers causes. It is safe for concurrent use.
type Watch struct {
	parts []Part
	now   func() time.Time

	mu    sync.Mutex
	since map[string]map[string]time.Time // by part and cause
}

// New returns a watch over parts; now may be nil.
func New(parts []Part, now func() time.Time) *Watch {
	if now == nil {
		now = time.Now
	}
	return &Watch{parts: parts, now: now, since: make(map[string]map[string]time.Time)}
}

// Run asks the cheap parts until the context ends.
func (w *Watch) Run(ctx context.Context) error {
	pace.Every(ctx, interval, func() bool {
		for _, p := range w.parts {
			if !p.Costly {
				w.ask(ctx, p, words.Shipped().English())
			}
		}
		return true
	})
	return ctx.Err()
}

// Report asks every part, and says what is wrong in a language.
func (w *Watch) Report(ctx context.Context, in *words.Language) Report {
	report := Report{OK: true, Parts: make([]PartBody, len(w.parts))}
	var asking sync.WaitGroup
	for i, p := range w.parts {
		asking.Go(func() { report.Parts[i] = w.ask(ctx, p, in) })
	}
	asking.Wait()
	for _, p := range report.Parts {
		report.OK = report.OK && p.OK
	}
	return report
}

// ask has a part say what is wrong, and remembers it.
func (w *Watch) ask(ctx context.Context, p Part, in *words.Language) PartBody {
	limited, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	found := p.Look(limited)
	if len(found) == 0 && limited.Err() != nil {
		found = []*trouble.Trouble{trouble.New("health.silent", nil)}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before, now := w.since[p.Name], make(map[string]time.Time, len(found))
	body := PartBody{Name: p.Name, OK: len(found) == 0, Needed: p.Needed, Causes: make([]Cause, 0, len(found))}
	for _, one := range found {
		cause := one.Cause()
		since, known := before[cause]
		if !known {
			since = w.now()
		}
		now[cause] = since
		told := Cause{Text: one.In(in), Since: since.UTC().Format(time.RFC3339), Reason: reasonOf(one), Detail: one.Detail}
		if one.Because != nil {
			because := reasonOf(one.Because)
			told.Because = &because
		}
		body.Causes = append(body.Causes, told)
	}
	if ctx.Err() == nil { // else who asked left, which says nothing about the part
		w.since[p.Name] = now
	}
	return body
}

// Surface returns the route.
func (w *Watch) Surface() httpserver.Surface {
	return httpserver.Surface{
		Name: "operator health", Doc: "What is wrong with this node.",
		Routes: []httpserver.Route{{
			Method: http.MethodGet, Pattern: "/operator/health", Auth: httpserver.Operator, Tags: []string{"Operators"},
			Summary: "Health with causes",
			Doc: "Every part of this node with what is wrong and since when. A node gets no requests (/ready) while a part is in trouble that is needed; " +
				"others fail alone. Models are asked at most every five minutes, or every half minute while one fails. Each cause has a code with what fills its sentence, and the sentence itself " +
				"in the language of `language` or `Accept-Language` (en, fr, sw, ar; else English); `detail` is what whoever failed said.",
			Params:  []httpserver.Param{{Name: wordshttp.Parameter, In: "query", Doc: "The language of the sentences, such as `sw`."}},
			Replies: []httpserver.Reply{{Status: http.StatusOK, Body: Report{}}},
			Handler: func(rw http.ResponseWriter, r *http.Request) error {
				return httpserver.WriteJSON(rw, http.StatusOK, w.Report(r.Context(), wordshttp.Speaker{}.Choose(rw, r).Language))
			},
		}},
	}
}
