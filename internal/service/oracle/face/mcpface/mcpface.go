// Package mcpface is the oracle as agents know it over the Model Context Protocol: a
// tool that is asked, and transcripts as resources, beside the tools of other
// services at /mcp.
//
// It promises that a question is a run like any other, that an agent is told of its
// progress, that an answer which takes longer than clients wait can be fetched later
// by the run's id, on any node, that a cancelled question stops its turn, and that
// whoever speaks in person is asked for approvals where the client can ask. It keeps no
// sessions of the protocol: what a later request needs is in the request.
//
// It refuses to let an app key approve, and to guess which conversation is meant.
//
// Decision: ADR 0206.
package mcpface

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/face"
	"github.com/castalia-org/castalia/internal/service/oracle/instructions"
)

// Deps is what the face is made of.
type Deps struct {
	Faces   *face.Faces
	Service *oracle.Service
	// Gate is asked before a question costs anything: the plugins' gates.
	Gate func(r *http.Request) error
	// Openings are questions that the operator suggests; nil suggests none.
	Openings func() []instructions.Opening
	// Wait is how long a tool waits for an answer: less than clients do.
	Wait time.Duration
	// BaseURL is where people reach the console; empty means as the server knows.
	BaseURL string
	Log     *slog.Logger
}

// Face offers the oracle to agents.
type Face struct {
	deps Deps
	// readings are of those who read a transcript, which is held whole.
	readings *ratelimit.Slots
}

// New makes a Face.
func New(d Deps) *Face {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	d.Wait = cmp.Or(d.Wait, wait)
	return &Face{deps: d, readings: ratelimit.NewSlots(readingsEach)}
}

// readingsEach is how many transcripts one person reads at a time; more wait.
const readingsEach = 3

// wait is how long a tool waits for an answer unless Deps says otherwise.
const wait = 45 * time.Second

// The tools.
const (
	toolAsk = "ask_oracle"
	toolGet = "get_answer"
)

// Instructions say what the oracle is good for.
func (f *Face) Instructions() string {
	return "The community's oracle: ask it with ask_oracle, in the user's words, and go on with the sessionId that it returns. " +
		"When it returns the status working, fetch the answer with get_answer. When it waits for an approval, tell the user where to give it."
}

// message is what is read of a request before it is served.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name         string          `json:"name"`
		RequestID    json.RawMessage `json:"requestId"`
		Capabilities struct {
			Elicitation map[string]json.RawMessage `json:"elicitation"`
		} `json:"capabilities"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// call is a request that is being served.
type call struct {
	who identity.Principal
	// request is the HTTP request.
	request *http.Request
	// name is by which its client cancels it; empty when it hangs up instead.
	name string
	// label is the client's, with what it can do: see newLabel.
	label string
	// out is the stream of the answer, nil where there is none.
	out *stream
	// base is where people reach the console.
	base string
}

type callKey struct{}

func callOf(ctx context.Context) (call, bool) {
	c, ok := ctx.Value(callKey{}).(call)
	return c, ok
}

// Entered is a request that was looked at.
type Entered struct {
	Writer  http.ResponseWriter
	Request *http.Request // nil when it was answered
	// Open says that the caller may use the face, Stream that the answer tells of
	// its progress.
	Open, Stream bool
}

// Enter looks at a request before the protocol is served.
func (f *Face) Enter(w http.ResponseWriter, r *http.Request) (Entered, error) {
	who := identity.AgentOf(r.Context()).Oracle
	if who == nil || r.Method != http.MethodPost || r.Body == nil {
		return Entered{Writer: w, Request: r, Open: who != nil}, nil
	}
	body, err := io.ReadAll(r.Body) // the route bounds it
	if err != nil {
		return Entered{}, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var m message
	_ = json.Unmarshal(body, &m) // what cannot be read is the SDK's to refuse
	c := call{who: *who, request: r, label: r.Header.Get(headerSession), base: f.base(r)}
	switch {
	case m.Method == "" && m.ID != nil && (m.Result != nil || m.Error != nil):
		if f.answered(r.Context(), c, m) {
			w.WriteHeader(http.StatusAccepted)
			return Entered{}, nil
		}
	case m.Method == "initialize":
		w.Header().Set(headerSession, newLabel(m))
	case m.Method == "notifications/cancelled" && c.label != "" && len(m.Params.RequestID) > 0:
		if err := f.deps.Faces.CancelCall(r.Context(), who.DID, callName(c.label, m.Params.RequestID)); err != nil {
			return Entered{}, err
		}
	case m.Method == "tools/call" && (m.Params.Name == toolAsk || m.Params.Name == toolGet):
		if c.label != "" && len(m.ID) > 0 {
			c.name = callName(c.label, m.ID)
		}
		c.out = &stream{under: httpserver.Stream(w, r), ResponseWriter: w}
		return Entered{
			Writer: c.out, Request: r.WithContext(context.WithValue(r.Context(), callKey{}, c)), Open: true, Stream: true,
		}, nil
	}
	return Entered{Writer: w, Request: r.WithContext(context.WithValue(r.Context(), callKey{}, c)), Open: true}, nil
}

// headerSession carries what the revisions before 2026-07-28 call a session. Ours
// are labels: nothing is kept under them.
const headerSession = "Mcp-Session-Id"

// newLabel tells the requests of one client from those of another that has the same
// credential, so that each cancels its own, and says what the client can do.
func newLabel(m message) string {
	can := ""
	if e := m.Params.Capabilities.Elicitation; e != nil {
		if _, form := e["form"]; form || len(e) == 0 {
			can += "f"
		}
		if _, link := e["url"]; link {
			can += "u"
		}
	}
	return strings.ToLower(rand.Text()) + "-" + can
}

// can reports whether the client of a label said that it can do something.
func (c call) can(what string) bool {
	_, all, _ := strings.Cut(c.label, "-")
	return strings.Contains(all, what)
}

func callName(label string, id json.RawMessage) string { return label + " " + string(id) }

func (f *Face) base(r *http.Request) string {
	if f.deps.BaseURL != "" {
		return strings.TrimSuffix(f.deps.BaseURL, "/")
	}
	return httpserver.AbsoluteBase(r)
}

// AddTo offers the tools, prompts and transcripts on a server.
func (f *Face) AddTo(s *mcp.Server) {
	f.addTools(s)
	f.addPrompts(s)
	f.addTranscripts(s)
}

// stream is an answer to which the protocol and the face both write, an event at a
// time.
type stream struct {
	http.ResponseWriter
	under *httpserver.StreamWriter
	mu    sync.Mutex
	begun bool
}

// WriteHeader sends the status.
func (s *stream) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
	s.ResponseWriter.WriteHeader(status)
}

// Write writes an event.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
	return s.under.Write(p)
}

// FlushError sends what was written.
func (s *stream) FlushError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.under.Send(nil)
}

// send writes a message of the face's own.
func (s *stream) send(message any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.under.Send([]byte("event: message\ndata: " + string(data) + "\n\n"))
}
