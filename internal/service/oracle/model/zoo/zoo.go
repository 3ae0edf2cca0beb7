// Package zoo is one server that plays the manners of many model endpoints, for
// tests.
//
// It answers as each of them answers and refuses what each of them refuses:
// missing or changed signatures, too many tools, ids and names that are too long,
// requests beyond the window. Each case says where its manners are known from.
// It counts what requests have in common with earlier ones, as prompt caches do.
//
// A model of the zoo calls its tool twice when it is asked about the "zoo" and
// has a tool with that in its name, and answers in words otherwise. It promises
// nothing about what a real model would say.
package zoo

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// Wire is how a case is spoken to.
type Wire string

// The wires.
const (
	Chat      Wire = "chat"
	Responses Wire = "responses"
	Messages  Wire = "messages"
)

// Case is an endpoint with its manners.
type Case struct {
	Name string
	// Source is where its manners are known from.
	Source string
	// Base is the endpoint's own address: a test reaches it through Transport.
	Base  string
	Model string
	Wire  Wire
	// Window is how many tokens fit, four bytes each; zero is no limit.
	Window int

	chat     chatManners
	messages messageManners
	// full refuses a request of so many tokens.
	full func(asked, window int) refusal
}

// refusal is an answer that is none.
type refusal struct {
	status int
	body   string
	header http.Header
}

// Server plays one case.
type Server struct {
	Case
	web *httptest.Server

	mu     sync.Mutex
	memory memory
	bodies []string
	wrong  []string
	made   map[string]bool
}

// Open starts a server for a case. Close ends it.
func Open(c Case) *Server {
	s := &Server{Case: c, made: map[string]bool{}}
	s.web = httptest.NewServer(s)
	return s
}

// Close stops the server.
func (s *Server) Close() { s.web.Close() }

// URL is where the server really listens: the endpoint behind a proxy.
func (s *Server) URL() string {
	u, err := url.Parse(s.Base)
	if err != nil {
		return s.web.URL
	}
	return s.web.URL + u.Path
}

// Transport leads requests for the endpoint's own address to the server.
func (s *Server) Transport() http.RoundTripper { return transport{s} }

type transport struct{ s *Server }

// RoundTrip sends a request to the zoo.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	here, err := url.Parse(t.s.web.URL)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = here.Scheme, here.Host
	return t.s.web.Client().Transport.RoundTrip(r)
}

// Bodies are the requests, as sent.
func (s *Server) Bodies() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.bodies...)
}

// Refused are the refusals until now.
func (s *Server) Refused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.wrong...)
}

// Cached is how much of the input was read before, from 0 to 1.
func (s *Server) Cached() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.memory.total == 0 {
		return 0
	}
	return float64(s.memory.hits) / float64(s.memory.total)
}

// ServeHTTP plays the case.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock() // one request at a time is enough for a test
	s.bodies = append(s.bodies, string(data))
	no := s.answer(w, r, data)
	if no == nil {
		return
	}
	s.wrong = append(s.wrong, no.body)
	maps.Copy(w.Header(), no.header)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(no.status)
	_, _ = io.WriteString(w, no.body)
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, data []byte) *refusal {
	path := map[Wire]string{Chat: "/chat/completions", Responses: "/responses", Messages: "/v1/messages"}[s.Wire]
	if !strings.HasSuffix(r.URL.Path, path) {
		return &refusal{status: http.StatusNotFound, body: `{"error":{"message":"no such route"}}`}
	}
	switch s.Wire {
	case Responses:
		return s.answerItems(w, data)
	case Messages:
		return s.answerMessages(w, r, data)
	}
	return s.answerChat(w, r, data)
}

// read counts a request and refuses what does not fit. Marked is how much of it
// is kept for later ones.
func (s *Server) read(segments []string, marked int) (total, cached int, no *refusal) {
	for _, one := range segments {
		total += tokens(one)
	}
	if s.Window > 0 && total > s.Window {
		r := s.full(total, s.Window)
		return 0, 0, &r
	}
	cached = s.memory.read(segments, marked)
	s.memory.total += total
	s.memory.hits += cached
	return total, cached, nil
}

// memory is a prompt cache: the beginnings that were read.
type memory struct {
	seen        [][]string
	total, hits int
}

func (m *memory) read(segments []string, marked int) (cached int) {
	for _, before := range m.seen {
		n := 0
		for i := 0; i < min(len(before), len(segments)) && before[i] == segments[i]; i++ {
			n += tokens(segments[i])
		}
		cached = max(cached, n)
	}
	m.seen = append(m.seen, segments[:marked])
	return cached
}

func tokens(s string) int { return (len(s) + 3) / 4 }

// sum is a signature of a text.
func sum(parts ...string) string {
	h := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(h[:12])
}

// canonical is JSON in one spelling, without what may change.
func canonical(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	var loose any
	if json.Unmarshal(b, &loose) != nil {
		return string(b)
	}
	b, _ = json.Marshal(unmarked(loose)) // it was JSON
	return string(b)
}

func unmarked(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "cache_control")
		for k := range v {
			v[k] = unmarked(v[k])
		}
	case []any:
		for i := range v {
			v[i] = unmarked(v[i])
		}
	}
	return v
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// zooTool is the tool that a model calls, if it was asked to.
func zooTool(names []string, asked string) string {
	if !strings.Contains(asked, "zoo") {
		return ""
	}
	for _, n := range names {
		if strings.Contains(n, "zoo") {
			return n
		}
	}
	return ""
}

// checkTools refuses too many tools and bad names, as all endpoints do.
func checkTools(names []string) string {
	if len(names) > 128 {
		return fmt.Sprintf("Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length %d instead.", len(names))
	}
	known := map[string]bool{}
	for i, n := range names {
		if !toolName.MatchString(n) {
			return fmt.Sprintf("Invalid 'tools[%d].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$' of at most 64.", i)
		}
		if known[n] {
			return "tools: Tool names must be unique."
		}
		known[n] = true
	}
	return ""
}

// stream writes events.
func stream(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		_, _ = io.WriteString(w, e)
		_ = http.NewResponseController(w).Flush()
	}
}

func data(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return "data: " + string(b) + "\n\n"
}

type object = map[string]any

// What the zoo says.
const (
	Thought = "The keeper wants to know."
	Answer  = "There are three animals."
)
