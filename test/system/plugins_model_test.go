package system

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// puppet is a model endpoint that does what it is told. To "use CAPABILITY TOOL
// JSON" it loads the capability if it has to, calls the tool and repeats what came
// of it; everything else it repeats. Messages with "wait" in front are held until
// they are let go.
type puppet struct {
	server *httptest.Server

	mu      sync.Mutex
	told    []string
	open    chan struct{}
	letGo   func()
	waiting chan struct{} // gets a value when a message is held
}

func newPuppet(t *testing.T) *puppet {
	t.Helper()
	p := &puppet{open: make(chan struct{}), waiting: make(chan struct{}, 16)}
	p.letGo = sync.OnceFunc(func() { close(p.open) })
	p.server = httptest.NewServer(p)
	t.Cleanup(func() {
		p.letGo()
		p.server.CloseClientConnections()
		p.server.Close()
	})
	return p
}

func (p *puppet) env() []string {
	return []string{"MODEL_PROVIDER=openai", "OPENAI_BASE_URL=" + p.server.URL, "OPENAI_API_KEY=sk-test", "MODEL=puppet"}
}

// heard reports whether some system prompt held the text.
func (p *puppet) heard(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.told, func(s string) bool { return strings.Contains(s, text) })
}

type puppetMessage struct {
	Role      string
	Content   string
	ToolCalls []struct {
		Function struct{ Name string }
	} `json:"tool_calls"`
}

// ServeHTTP answers as OpenAI does.
func (p *puppet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request struct {
		Messages []puppetMessage
		Tools    []struct {
			Function struct{ Name string }
		}
	}
	if err != nil || json.Unmarshal(body, &request) != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	var offered []string
	for _, t := range request.Tools {
		offered = append(offered, t.Function.Name)
	}
	p.mu.Lock()
	for _, m := range request.Messages {
		if m.Role == "system" || m.Role == "user" {
			p.told = append(p.told, m.Content)
		}
	}
	p.mu.Unlock()
	message, called, last := lastTurn(request.Messages)
	if strings.HasPrefix(message, "wait ") {
		p.waiting <- struct{}{}
		select {
		case <-p.open:
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	delta, finish := map[string]any{"content": "You said: " + message}, "stop"
	if part := strings.SplitN(message, " ", 4); part[0] == "use" && len(part) == 4 {
		call := func(name, args string) {
			delta = map[string]any{"tool_calls": []any{map[string]any{
				"index": 0, "id": fmt.Sprintf("call_%d", len(called)), "type": "function", "function": map[string]string{"name": name, "arguments": args},
			}}}
			finish = "tool_calls"
		}
		switch {
		case slices.Contains(called, part[2]):
			delta["content"] = last
		case slices.Contains(offered, part[2]):
			call(part[2], part[3])
		case !slices.Contains(called, "load_capability") && slices.Contains(offered, "load_capability"):
			call("load_capability", fmt.Sprintf(`{"name":%q}`, part[1]))
		default:
			delta["content"] = fmt.Sprintf("not offered, only %v; %s", offered, last)
		}
	}
	for _, chunk := range []any{
		map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta}}},
		map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": finish}}},
		map[string]any{"choices": []any{}, "usage": map[string]int{"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}},
	} {
		data, _ := json.Marshal(chunk)
		_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// lastTurn is the user's last message, the tools called since, and what the
// last of them returned.
func lastTurn(messages []puppetMessage) (message string, called []string, last string) {
	for _, m := range messages {
		switch m.Role {
		case "user":
			message, _, _ = strings.Cut(m.Content, "\n\n<context>\n") // without what the oracle adds
			called, last = nil, ""
		case "assistant":
			for _, c := range m.ToolCalls {
				called = append(called, c.Function.Name)
			}
		case "tool":
			last = m.Content
		}
	}
	return message, called, last
}

// use makes the oracle use a tool, and returns the frames and what came of it.
func (c *chatter) use(t *testing.T, n *Node, capability, tool, args string, more ...string) ([]frame, string) {
	t.Helper()
	message, err := json.Marshal(fmt.Sprintf("use %s %s %s", capability, tool, args))
	if err != nil {
		t.Fatal(err)
	}
	frames := c.stream(t, n, http.MethodPost, "/messages/"+c.session, fmt.Sprintf(`{"message":%s,"stream":true%s}`, message, strings.Join(more, ""))).rest(t)
	return frames, textOf(t, frames)
}

// events are the names of frames.
func events(frames []frame) []string {
	var out []string
	for _, f := range frames {
		out = append(out, f.Event)
	}
	return out
}
