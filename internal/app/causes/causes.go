// Package causes tells operators what is wrong with a node, why, and since when.
//
// Each part of the node says what keeps it from working, in sentences. A cause is
// remembered from when it was first seen until it is gone; parts that are cheap to
// ask are asked all the time, so that "since" does not begin with the first look. A part
// that does not answer in time is in trouble by that alone: nothing is called well that
// nobody has seen well.
package causes

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/pace"
)

const (
	// interval is how often cheap parts are asked.
	interval = 15 * time.Second
	// lookLimit bounds how long a part may take to say how it is.
	lookLimit = 5 * time.Second
	// textSilent is the cause of a part that does not say anything in time.
	textSilent = "does not say how it is"
)

// Part is something that can be in trouble.
type Part struct {
	Name string
	// Needed says that the node gets no requests while the part is in trouble.
	Needed bool
	// Costly parts are asked only when somebody wants to know.
	Costly bool
	// Look returns what is wrong; nothing means that the part works. What follows a
	// semicolon is detail, which may change while the cause stays. It ends with its context.
	Look func(ctx context.Context) []string
}

// Database is the part that everything stands on. stuck says why it takes no writes,
// short that it works with less than it wants.
func Database(ping func(context.Context) error, stuck func() string, short func() bool) Part {
	return Part{Name: "database", Needed: true, Look: func(ctx context.Context) []string {
		switch {
		case ping(ctx) != nil:
			return []string{"does not answer"}
		case stuck() != "":
			return []string{stuck()}
		case short():
			return []string{"PostgreSQL has no more connections"}
		}
		return nil
	}}
}

// Storage is the disk of the data folder.
func Storage(full func() bool) Part {
	return Part{Name: "storage", Needed: true, Look: func(context.Context) []string {
		if full() {
			return []string{"the disk is full: delete files and purge them, or make room"}
		}
		return nil
	}}
}

// Cause is why a part is in trouble.
type Cause struct {
	Text  string `json:"text"`
	Since string `json:"since"`
}

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
				w.ask(ctx, p)
			}
		}
		return true
	})
	return ctx.Err()
}

// Report asks every part.
func (w *Watch) Report(ctx context.Context) Report {
	report := Report{OK: true, Parts: make([]PartBody, len(w.parts))}
	var asking sync.WaitGroup
	for i, p := range w.parts {
		asking.Go(func() { report.Parts[i] = w.ask(ctx, p) })
	}
	asking.Wait()
	for _, p := range report.Parts {
		report.OK = report.OK && p.OK
	}
	return report
}

// ask has a part say what is wrong, and remembers it.
func (w *Watch) ask(ctx context.Context, p Part) PartBody {
	limited, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	texts := p.Look(limited)
	if len(texts) == 0 && limited.Err() != nil {
		texts = []string{textSilent}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before, now := w.since[p.Name], make(map[string]time.Time, len(texts))
	body := PartBody{Name: p.Name, OK: len(texts) == 0, Needed: p.Needed, Causes: make([]Cause, 0, len(texts))}
	for _, text := range texts {
		cause, _, _ := strings.Cut(text, ";")
		since, known := before[cause]
		if !known {
			since = w.now()
		}
		now[cause] = since
		body.Causes = append(body.Causes, Cause{Text: text, Since: since.UTC().Format(time.RFC3339)})
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
				"others fail alone. Models are asked at most every five minutes, or every half minute while one fails.",
			Replies: []httpserver.Reply{{Status: http.StatusOK, Body: Report{}}},
			Handler: func(rw http.ResponseWriter, r *http.Request) error {
				return httpserver.WriteJSON(rw, http.StatusOK, w.Report(r.Context()))
			},
		}},
	}
}
