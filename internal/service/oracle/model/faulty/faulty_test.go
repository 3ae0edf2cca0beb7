package faulty_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/anthropic"
	"github.com/castalia-org/castalia/internal/service/oracle/model/faulty"
	"github.com/castalia-org/castalia/internal/service/oracle/model/openai"
	"github.com/castalia-org/castalia/internal/service/oracle/model/wire"
	"github.com/castalia-org/castalia/plugin"
)

// Two good answers that say the same: a thought, a text, two tools in pieces.
const (
	openaiAnswer = `data: {"model":"m-1","choices":[]}

data: {"model":"m-1","choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning_content":"hm"}}]}

data: {"choices":[{"index":0,"delta":{"content":"Let me "}}]}

data: {"choices":[{"index":0,"delta":{"content":"look."}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"a_b","arguments":""}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"c2","type":"function","function":{"name":"other","arguments":"{\"x\""}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"q\":1}"}},{"index":1,"function":{"arguments":":2}"}}]}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4}}}

data: [DONE]

`
	anthropicAnswer = `event: message_start
data: {"type":"message_start","message":{"model":"m-1","usage":{"input_tokens":6,"cache_read_input_tokens":4,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Let me "}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"look."}}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"c1","name":"a_b","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"q\":1}"}}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"c2","name":"other","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"x\":2}"}}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}}

event: message_stop
data: {"type":"message_stop"}

`
)

var modes = []string{
	"ok", "crlf", "keepalive", "bigline", "gzip", "429", "429-then-ok", "500", "500-then-ok", "cut-before-then-ok", "401", "quota", "toolong", "html",
	"html200", "redirect", "garbage", "eof", "error", "cut-before", "cut", "stall-before", "stall",
}

func providers(t *testing.T) map[string]struct {
	model.Provider
	server *faulty.Server
} {
	t.Helper()
	var infos []model.Info
	for _, m := range modes {
		infos = append(infos, model.Info{ID: m})
	}
	cfg := wire.Config{FirstChunk: 300 * time.Millisecond, Idle: 200 * time.Millisecond, Backoff: time.Millisecond}
	serve := func(answer string) (*faulty.Server, string) {
		s := faulty.New(answer)
		web := httptest.NewServer(s)
		t.Cleanup(func() { close(s.Hold); web.Close() })
		return s, web.URL
	}
	one, oneURL := serve(openaiAnswer)
	two, twoURL := serve(anthropicAnswer)
	o, err := openai.New(openai.Config{BaseURL: oneURL + "/v1", Key: "sk-test", Models: infos, Wire: cfg})
	if err != nil {
		t.Fatal(err)
	}
	a, err := anthropic.New(anthropic.Config{BaseURL: twoURL, Key: "sk-test", Models: infos, Wire: cfg})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]struct {
		model.Provider
		server *faulty.Server
	}{"openai": {o, one}, "anthropic": {a, two}}
}

var request = plugin.ModelRequest{
	System: "be good",
	Messages: []plugin.ModelMessage{
		{Role: plugin.RoleUser, Text: "hi", Images: []plugin.Image{{MediaType: "image/png", Data: []byte("png")}}},
		{Role: plugin.RoleAssistant, ToolCalls: []plugin.ModelToolCall{{ID: "c0", Name: "a.b", Args: json.RawMessage(`{}`)}}},
		{Role: plugin.RoleTool, ToolCallID: "c0", Text: "done"},
		{Role: plugin.RoleUser, Text: "again"},
	},
	Tools: []plugin.ToolSpec{{Name: "a.b", Description: "x"}, {Name: "other", Schema: json.RawMessage(`{"type":"object"}`)}},
}

func TestFaults(t *testing.T) {
	t.Parallel()
	want := map[string]model.Kind{
		"429": model.RateLimit, "500": model.Server, "401": model.Auth, "quota": model.Billing, "toolong": model.TooLong,
		"html":    model.Server,
		"html200": model.Server, "redirect": model.Unknown, "garbage": model.Server, "eof": model.Network, "error": model.Server,
		"cut-before": model.Network, "cut": model.Network, "stall-before": model.Timeout, "stall": model.Timeout,
	}
	tries := map[string]int{
		"429": 3, "500": 3, "429-then-ok": 2, "500-then-ok": 2, "cut-before-then-ok": 2, "cut-before": 3, "html": 3, "html200": 3,
	}
	for name, p := range providers(t) {
		for _, mode := range modes {
			t.Run(name+"/"+mode, func(t *testing.T) {
				t.Parallel()
				req := request
				req.Model = mode
				streamed := ""
				resp, err := p.Stream(t.Context(), req, func(c plugin.Chunk) { streamed += c.Text })
				if streamed != resp.Text {
					t.Errorf("streamed %q, answered %q", streamed, resp.Text)
				}
				if n := p.server.Count(mode); n != max(tries[mode], 1) {
					t.Errorf("%d requests, want %d", n, max(tries[mode], 1))
				}
				if kind := want[mode]; kind != "" {
					e, ok := errors.AsType[*model.Error](err)
					if !ok || e.Kind != kind {
						t.Fatalf("%v, want %s", err, kind)
					}
					shown := e.Public()
					if all := shown.Text + shown.Detail; strings.Contains(all, "sk-") || strings.Contains(all, "org-") ||
						strings.Contains(all, "internal-host") {
						t.Errorf("users see %q", all)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				good := plugin.ModelResponse{
					Text: "Let me look.", Reasoning: "hm", Finish: "tool_calls", Model: "m-1",
					ToolCalls: []plugin.ModelToolCall{
						{ID: "c1", Name: "a.b", Args: json.RawMessage(`{"q":1}`)},
						{ID: "c2", Name: "other", Args: json.RawMessage(`{"x":2}`)},
					},
					Usage: plugin.Usage{InputTokens: 10, OutputTokens: 5, CachedTokens: 4},
				}
				if name == "openai" { // which may be asked to send its thoughts back
					good.State = &plugin.ModelState{Provider: resp.State.Provider, Model: mode, Data: json.RawMessage(`{"thoughts":"hm"}`)}
				}
				if d := cmp.Diff(good, resp); d != "" {
					t.Error(d)
				}
			})
		}
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	for name, p := range providers(t) {
		ctx, cancel := context.WithCancel(t.Context())
		req := request
		req.Model = "ok"
		_, err := p.Stream(ctx, req, func(plugin.Chunk) { cancel() })
		if err == nil {
			continue // the whole answer was already there
		}
		if e := model.From(err); e.Kind == model.Timeout {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What endpoints other than OpenAI's own really send.
func TestQuirks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		media, body string
		want        plugin.ModelResponse
	}{
		"whole calls without index": {"text/event-stream", `data: {"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"so"}]},{"type":"text","text":"Hi"}],"tool_calls":[{"id":"x","function":{"name":"f","arguments":"{}"}},{"id":"y","function":{"name":"f","arguments":{"a":1}}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}

data: [DONE]

`, plugin.ModelResponse{
			Text: "Hi", Reasoning: "so", Finish: "tool_calls", Usage: plugin.Usage{InputTokens: 1, OutputTokens: 2},
			ToolCalls: []plugin.ModelToolCall{
				{ID: "x", Name: "f", Args: json.RawMessage(`{}`)}, {ID: "y", Name: "f", Args: json.RawMessage(`{"a":1}`)},
			},
		}},
		"usage beside, no DONE": {"text/event-stream", `data: {"choices":[{"index":0,"delta":{"reasoning":"so","content":"Hi"}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"usage":{"prompt_tokens":3,"completion_tokens":4}}}

`, plugin.ModelResponse{Text: "Hi", Reasoning: "so", Finish: "stop", Usage: plugin.Usage{InputTokens: 3, OutputTokens: 4}}},
		"not streamed": {
			"application/json", `{"model":"m","choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`,
			plugin.ModelResponse{Text: "Hi", Finish: "stop", Model: "m", Usage: plugin.Usage{InputTokens: 3, OutputTokens: 4}},
		},
	} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.media)
			_, _ = w.Write([]byte(c.body))
		}))
		p, err := openai.New(openai.Config{BaseURL: web.URL, Models: []model.Info{{ID: "m"}}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Stream(t.Context(), plugin.ModelRequest{}, func(plugin.Chunk) {})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		web.Close()
	}
}
