package system

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/sse"
)

// speaker is a model endpoint that answers every message with the same kind of
// text, word by word, and pauses within answers that a test wants to hold.
type speaker struct {
	server *httptest.Server

	mu       sync.Mutex
	requests []string            // as they came
	held     map[string]*holding // by the user's last message
}

// holding is an answer that stops after half of its words until it is let go.
type holding struct {
	answer, begun string
	letGo         func()
	// cut gets a value whenever the program hangs up on the held answer.
	cut chan struct{}
	// asked gets a value whenever the held answer has reached its half.
	asked chan struct{}
	open  chan struct{}
}

func newSpeaker(t *testing.T) *speaker {
	t.Helper()
	s := &speaker{held: map[string]*holding{}}
	s.server = httptest.NewServer(s)
	t.Cleanup(func() {
		s.mu.Lock()
		for _, h := range s.held {
			h.letGo()
		}
		s.mu.Unlock()
		s.server.CloseClientConnections()
		s.server.Close()
	})
	return s
}

// env makes the program ask the speaker.
func (s *speaker) env() []string {
	return []string{"MODEL_PROVIDER=openai", "OPENAI_BASE_URL=" + s.server.URL, "OPENAI_API_KEY=sk-test", "MODEL=speaker"}
}

// answerTo is what the speaker says to a message.
func answerTo(message string) string {
	return "You said: " + message + ". To that I answer: naïve café 🌍, one two three four five six seven."
}

// hold makes the answer to the message wait at its half.
func (s *speaker) hold(message string) *holding {
	words := strings.SplitAfter(answerTo(message), " ")
	h := &holding{
		answer: answerTo(message), begun: strings.Join(words[:len(words)/2], ""),
		cut: make(chan struct{}, 16), asked: make(chan struct{}, 16), open: make(chan struct{}),
	}
	h.letGo = sync.OnceFunc(func() { close(h.open) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[message] = h
	return h
}

// told reports whether some request held all these texts.
func (s *speaker) told(texts ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.requests, func(request string) bool {
		for _, text := range texts {
			if !strings.Contains(request, text) {
				return false
			}
		}
		return true
	})
}

// Messages that begin so are refused with a secret, or cut off at their half.
const (
	refuseMe = "refuse "
	cutMe    = "cut "
)

// ServeHTTP answers as OpenAI does.
func (s *speaker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request struct {
		Messages []struct {
			Role    string
			Content string
		}
	}
	if err != nil || json.Unmarshal(body, &request) != nil || r.URL.Path != "/chat/completions" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	message := ""
	for _, m := range request.Messages {
		if m.Role == "user" {
			message, _, _ = strings.Cut(m.Content, "\n\n<context>\n") // without what the oracle adds
		}
	}
	s.mu.Lock()
	s.requests = append(s.requests, string(body))
	h := s.held[message]
	s.mu.Unlock()
	if strings.HasPrefix(message, refuseMe) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"message":"Incorrect API key provided: sk-verysecretkey1234","code":"invalid_api_key"}}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	words := strings.SplitAfter(answerTo(message), " ")
	for i, word := range words {
		if strings.HasPrefix(message, cutMe) && i == len(words)/2 {
			panic(http.ErrAbortHandler)
		}
		if h != nil && i == len(words)/2 {
			h.asked <- struct{}{}
			if !h.wait(r.Context()) {
				return
			}
		}
		text, _ := json.Marshal(word)
		if _, err := fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", text); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
	}
	_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}

// wait reports whether the answer may go on.
func (h *holding) wait(ctx context.Context) bool {
	select {
	case <-h.open:
		return true
	case <-ctx.Done():
		h.cut <- struct{}{}
		return false
	}
}

// frame is one event of a stream, as it came over the wire.
type frame struct{ ID, Event, Data string }

// field reads one field of a frame's payload.
func (f frame) field(t *testing.T, name string) any {
	t.Helper()
	var payload map[string]any
	if err := json.Unmarshal([]byte(f.Data), &payload); err != nil {
		t.Fatalf("frame %s: %v: %s", f.Event, err, f.Data)
	}
	return payload[name]
}

// stream is an event stream that is being read.
type stream struct {
	Header  http.Header
	Status  int
	decoder *sse.Decoder
	// Cut hangs up.
	Cut func()
}

// openStream sends a request whose answer is read as it comes.
func (c *chatter) openStream(ctx context.Context, n *Node, method, path, body string,
	header ...string,
) (*stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	request, err := http.NewRequestWithContext(ctx, method, n.URL+path, strings.NewReader(body))
	if err != nil {
		cancel()
		return nil, err
	}
	request.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + c.token}, "X-Auth-Type": {"ucan"}}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := c.world.Client.Do(request) //nolint:bodyclose // Cut closes it
	if err != nil {
		cancel()
		return nil, err
	}
	return &stream{
		Header: response.Header, Status: response.StatusCode, decoder: sse.NewDecoder(response.Body, 0),
		Cut: func() { cancel(); _ = response.Body.Close() },
	}, nil
}

// stream is openStream that must succeed; the test's end hangs up.
func (c *chatter) stream(t *testing.T, n *Node, method, path, body string, header ...string) *stream {
	t.Helper()
	s, err := c.openStream(t.Context(), n, method, path, body, header...)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	t.Cleanup(s.Cut)
	if got := s.Header.Get("Content-Type"); s.Status != http.StatusOK || !strings.HasPrefix(got, "text/event-stream") {
		t.Fatalf("%s %s: %d, %s", method, path, s.Status, got)
	}
	return s
}

// say begins a streamed turn.
func (c *chatter) say(t *testing.T, n *Node, message string) *stream {
	t.Helper()
	return c.stream(t, n, http.MethodPost, "/messages/"+c.session, fmt.Sprintf(`{"message":%q,"stream":true}`, message))
}

// next returns the next frame, or false at the end of the stream.
func (s *stream) next() (frame, bool) {
	e, err := s.decoder.Next()
	if err != nil {
		return frame{}, false
	}
	name := e.Name
	if name == "" {
		name = "message"
	}
	return frame{ID: e.ID, Event: name, Data: string(e.Data)}, true
}

// until reads up to the first frame for which found is true.
func (s *stream) until(t *testing.T, found func(frame) bool) []frame {
	t.Helper()
	var frames []frame
	for {
		f, ok := s.next()
		if !ok {
			t.Fatalf("the stream ended after %v", frames)
		}
		if frames = append(frames, f); found(f) {
			return frames
		}
	}
}

// rest reads to done, and checks that nothing follows it.
func (s *stream) rest(t *testing.T) []frame {
	t.Helper()
	frames := s.until(t, func(f frame) bool { return f.Event == "done" })
	if f, ok := s.next(); ok {
		t.Errorf("after done: %v", f)
	}
	return frames
}

// textOf is the answer that a page shows after these frames: a run that changed
// hands says how much of it stays.
func textOf(t *testing.T, frames []frame) string {
	t.Helper()
	text := ""
	for _, f := range frames {
		switch f.Event {
		case "message":
			text += f.field(t, "content").(string)
		case "run":
			if keep, ok := f.field(t, "partialLength").(float64); ok {
				text = firstUnits(text, int(keep))
			}
		}
	}
	return text
}

// firstUnits is the beginning of a text, measured in UTF-16 units as pages do.
func firstUnits(text string, n int) string {
	for i, r := range text {
		if n <= 0 {
			return text[:i]
		}
		n--
		if r > 0xffff {
			n--
		}
	}
	return text
}
