// Package facehttp is what faces have in common as HTTP: they read hostile bodies,
// know who asks, and write streams of events.
//
// It promises that a body costs no more than its bytes allow to expect, and that
// what was written to a stream goes out in one piece. It refuses to know what any
// face says.
package facehttp

import (
	"encoding/json"
	"net/http"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/protocol/sse"
	"github.com/castalia-org/castalia/internal/service/oracle/face"
)

// keptBuffer is how much room for events a stream keeps while it waits. The first events of some faces tell all of
// the answer that begins, words after that are small.
const keptBuffer = 256

// HeaderRunID names the run of an answer.
const HeaderRunID = "X-Run-Id"

// Deps is what a face serves.
type Deps struct {
	Faces *face.Faces
	// Authenticate turns the key of a request into its principal.
	Authenticate func(httpserver.Handler) httpserver.Handler
	CORS         httpserver.CORSPolicy
}

// Caller returns who asks.
func Caller(r *http.Request) (identity.Principal, error) {
	p, ok := identity.FromContext(r.Context())
	if !ok {
		return p, fault.New(fault.Unauthenticated, identity.TextMissing)
	}
	return p, nil
}

// Events is a stream that is being written, or nothing when it was not opened.
type Events struct {
	out    *httpserver.StreamWriter
	header http.Header
	buf    []byte
	// head is how much of buf waits for what follows, until something was sent.
	head int
	sent bool
}

// Open begins the answer.
func (e *Events) Open(w http.ResponseWriter, r *http.Request) {
	e.out, e.header = httpserver.Stream(w, r), w.Header()
}

// Opened reports whether anybody reads.
func (e *Events) Opened() bool { return e.out != nil }

// Wait holds what was written so far back until something follows it, or a while has
// passed: until then the answer can still become an error with a status of its own.
func (e *Events) Wait() { e.head = len(e.buf) }

// Sent reports whether anything went out, so that it is too late for another status.
func (e *Events) Sent() bool { return e.sent }

// Data writes an event without a name.
func (e *Events) Data(text string) {
	e.buf = append(e.buf, "data: "...)
	e.buf = append(e.buf, text...)
	e.buf = append(e.buf, "\n\n"...)
}

// JSON writes an event without a name, of what can be encoded.
func (e *Events) JSON(value any) {
	if data, err := json.Marshal(value); err == nil {
		e.Data(string(data))
	}
}

// Named writes an event with a name.
func (e *Events) Named(name string, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		return // what is written can be encoded
	}
	if buf, err := sse.Append(e.buf, sse.Event{Name: name, Data: data}); err == nil {
		e.buf = buf
	}
}

// Flush sends what was written, or a sign of life.
func (e *Events) Flush(beat bool) error {
	if e.out == nil {
		return nil
	}
	if beat {
		e.buf = sse.AppendComment(e.buf, "heartbeat")
	}
	if len(e.buf) == 0 || !e.sent && len(e.buf) == e.head {
		return nil
	}
	if !e.sent { // until now it could become an error
		e.sent = true
		e.header.Set("Content-Type", "text/event-stream; charset=utf-8")
	}
	err := e.out.Send(e.buf)
	if cap(e.buf) > keptBuffer {
		e.buf = nil
	}
	e.buf = e.buf[:0]
	return err
}

// Fail ends a stream with what went wrong, as say writes it, where its status has been
// sent; else it returns the error.
func (e *Events) Fail(err error, say func(*fault.Error)) error {
	f := fault.From(err)
	switch {
	case f.Kind == fault.Canceled:
		return nil
	case !e.sent:
		return err
	}
	say(f)
	_ = e.Flush(false) // nobody is left to tell
	return nil
}

// SetErrorHeaders prepares the headers of a failure.
func SetErrorHeaders(h http.Header, e *fault.Error) {
	httpserver.SetRetryAfter(h, e)
	if e.Kind == fault.Unauthenticated && h.Get("Www-Authenticate") == "" {
		h.Set("Www-Authenticate", "Bearer")
	}
	h.Del("Etag")
	h.Del("Content-Encoding")
	h.Set("Cache-Control", "no-store")
}
