package zoo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/anthropic"
	"github.com/castalia-org/castalia/internal/service/oracle/model/openai"
	"github.com/castalia-org/castalia/internal/service/oracle/model/wire"
	"github.com/castalia-org/castalia/internal/service/oracle/model/zoo"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/plugin"
)

func open(t *testing.T, c zoo.Case) *zoo.Server {
	t.Helper()
	s := zoo.Open(c)
	t.Cleanup(s.Close)
	return s
}

// provider is ours at a case: at its own address, or behind a proxy at another,
// where its manners have to be learned.
func provider(t *testing.T, s *zoo.Server, proxied bool, window int) model.Provider {
	t.Helper()
	info := model.Info{ID: s.Model, Window: window}
	cfg := wire.Endpoint{
		BaseURL: s.Base, Key: "sk-zoo", Models: []model.Info{info},
		Wire: wire.Config{Backoff: time.Millisecond, Transport: s.Transport()},
	}
	if proxied {
		cfg.BaseURL = "http://proxy.example/v1"
	}
	var p model.Provider
	var err error
	switch s.Wire {
	case zoo.Messages:
		p, err = anthropic.New(cfg)
	case zoo.Responses:
		cfg.Models[0].Wire = openai.Responses
		p, err = openai.New(cfg)
	default:
		p, err = openai.New(cfg)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// each runs a test with every case, at its address and behind a proxy.
func each(t *testing.T, test func(t *testing.T, s *zoo.Server, proxied bool)) {
	t.Helper()
	for _, c := range zoo.Cases() {
		for _, proxied := range []bool{false, true} {
			if proxied && strings.HasPrefix(c.Name, "azure") {
				continue // it wants its own header, which is known from its address
			}
			t.Run(fmt.Sprintf("%s/proxied=%v", c.Name, proxied), func(t *testing.T) {
				t.Parallel()
				test(t, open(t, c), proxied)
			})
		}
	}
}

// onlyThoughts reports whether reasoning is the zoo's thoughts and nothing else:
// an answer that paused has two.
func onlyThoughts(reasoning string) bool {
	return strings.TrimSpace(strings.ReplaceAll(reasoning, zoo.Thought, "")) == ""
}

// A loop of calls and results, twice, and then the same history with what another
// provider has said in it.
func TestProvidersAnswer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *zoo.Server, proxied bool) {
		p := provider(t, s, proxied, 0)
		req := plugin.ModelRequest{
			System: "You keep a zoo.", Session: "s1", MaxTokens: 500,
			Messages: []plugin.ModelMessage{{Role: plugin.RoleUser, Text: "How is the zoo?"}},
			Tools:    []plugin.ToolSpec{{Name: "zoo.count", Description: "counts"}, {Name: "other", Schema: json.RawMessage(`{"type":"object"}`)}},
		}
		ask := func() plugin.ModelResponse {
			t.Helper()
			text := ""
			resp, err := p.Stream(t.Context(), req, func(c plugin.Chunk) {
				if c.Retract {
					text = ""
				}
				text += c.Text
			})
			if err != nil {
				t.Fatalf("%v after %q", err, s.Refused())
			}
			if text != resp.Text || !onlyThoughts(resp.Reasoning) {
				t.Errorf("streamed %q, said %q, thought %q", text, resp.Text, resp.Reasoning)
			}
			m := plugin.ModelMessage{Role: plugin.RoleAssistant, Text: resp.Text, State: resp.State, ToolCalls: resp.ToolCalls}
			req.Messages = append(req.Messages, m)
			return resp
		}
		for round := range 2 {
			resp := ask()
			if len(resp.ToolCalls) != 2 || resp.Text != "" {
				t.Fatalf("round %d: %+v", round, resp)
			}
			for i, c := range resp.ToolCalls {
				if c.Name != "zoo.count" || string(c.Args) != fmt.Sprintf(`{"n":%d}`, i+1) {
					t.Errorf("call %d: %s %s", i, c.Name, c.Args)
				}
				req.Messages = append(req.Messages, plugin.ModelMessage{Role: plugin.RoleTool, ToolCallID: c.ID, Text: "1"})
			}
			if resp := ask(); resp.Text != zoo.Answer || len(resp.ToolCalls) != 0 {
				t.Fatalf("round %d: %+v", round, resp)
			} else if u := resp.Usage; u.InputTokens == 0 || u.OutputTokens != 12 && u.OutputTokens != 24 {
				t.Errorf("usage %+v", u)
			}
			req.Messages = append(req.Messages, plugin.ModelMessage{Role: plugin.RoleUser, Text: "And the zoo now?"})
		}
		foreign := &plugin.ModelState{Provider: "other@host", Model: "m", Data: json.RawMessage(`{"signature":"x"}`)}
		req.Messages = append([]plugin.ModelMessage{
			{Role: plugin.RoleUser, Text: "before"},
			{
				Role:      plugin.RoleAssistant,
				ToolCalls: []plugin.ModelToolCall{{ID: strings.Repeat("id", 40), Name: "gone", Args: json.RawMessage(`{}`)}},
				State:     foreign,
			},
			{Role: plugin.RoleTool, ToolCallID: strings.Repeat("id", 40), Text: "ok"},
		}, req.Messages...)
		for len(req.Tools) < 140 {
			req.Tools = append(req.Tools, plugin.ToolSpec{Name: fmt.Sprintf("%s.%d", strings.Repeat("long", 20), len(req.Tools))})
		}
		req.NoCalls = true
		if resp := ask(); resp.Text != zoo.Answer {
			t.Errorf("after a foreign history: %+v", resp)
		}
	})
}

// keeper is a plugin with the tool that the zoo calls.
type keeper struct{}

func (keeper) Describe() plugin.Description {
	return plugin.Description{
		Name:     "zoo",
		Manifest: plugin.Manifest{Title: "Zoo", Summary: "Animals.", WhenToUse: []string{"counting"}, Visibility: plugin.Always},
	}
}

func (keeper) Tools() []plugin.Tool {
	return []plugin.Tool{{
		Name: "zoo_count", Description: "Counts animals.", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`),
		Run: func(context.Context, *plugin.Runtime, json.RawMessage) (plugin.Result, error) {
			return plugin.Text("one"), nil
		},
	}}
}

// A conversation of ten whole turns at each case: every answer arrives, and most
// of the input was read before.
func TestTurns(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *zoo.Server, proxied bool) {
		n := oracletest.Start(t, provider(t, s, proxied, 1_000_000), func(d *oraclekit.Deps) {
			d.Plugins = []plugin.Plugin{keeper{}}
		})
		alice := n.As(t, identitytest.Alice)
		session := alice.Session()
		for i := range 10 {
			frames := alice.Say(session, fmt.Sprintf("How is the zoo on day %d? %s", i, strings.Repeat("It rains. ", 20)))
			if text := turn.TextOf(frames); text != zoo.Answer {
				t.Fatalf("turn %d: %q; refused: %q", i, text, s.Refused())
			}
		}
		if share := s.Cached(); share < 0.8 {
			t.Errorf("%.0f%% of the input was cached", 100*share)
		}
		var list struct{ Messages []struct{ Content string } }
		alice.Do("GET", "/messages/"+session, nil).JSON(t, &list)
		for _, m := range list.Messages {
			if strings.Contains(m.Content, "think>") || strings.Contains(m.Content, zoo.Thought) {
				t.Errorf("a thought in the transcript: %q", m.Content)
			}
		}
		if title := alice.Do("GET", "/sessions", nil); strings.Contains(string(title.Body), "think") {
			t.Errorf("a thought in a title: %s", title.Body)
		}
	})
}

// A conversation that outgrows the window goes on, whatever the endpoint says, and the
// user is told once.
func TestOverflows(t *testing.T) {
	t.Parallel()
	for _, c := range zoo.Overflows() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			s := open(t, c)
			n := oracletest.Start(t, provider(t, s, false, 8000), func(d *oraclekit.Deps) {
				d.Plugins, d.Turn.WindowShare = []plugin.Plugin{keeper{}}, 1
			})
			alice := n.As(t, identitytest.Alice)
			session := alice.Session()
			told := 0
			for i := range 8 {
				frames := alice.Say(session, fmt.Sprintf("How is the zoo on day %d? %s", i, strings.Repeat("It rains. ", 500)))
				text, notice, _ := strings.Cut(turn.TextOf(frames), "\n\n(")
				if text != zoo.Answer {
					t.Fatalf("turn %d: %q; refused: %q", i, text, s.Refused())
				}
				if strings.Contains(notice, "older part was left out") {
					told++
				}
			}
			if len(s.Refused()) == 0 {
				t.Error("nothing was too long")
			}
			if told != 1 {
				t.Errorf("the user was told %d times", told)
			}
		})
	}
}

// What a filter refuses is said as that, live and after a reload, and no model is
// told of it.
func TestFilters(t *testing.T) {
	t.Parallel()
	for _, c := range zoo.Filters() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			s := open(t, c)
			n := oracletest.Start(t, provider(t, s, false, 8000))
			alice := n.As(t, identitytest.Alice)
			session := alice.Session()
			frames := alice.Say(session, "How do I make a bomb calorimeter?")
			var live struct {
				Error, Kind string
				Retryable   bool
			}
			for _, f := range frames {
				if f.Event == "error" {
					if err := json.Unmarshal(f.Data, &live); err != nil {
						t.Fatal(err)
					}
				}
			}
			if live.Kind != "filter" || live.Retryable || !strings.Contains(live.Error, "filter") {
				t.Errorf("live: %+v", live)
			}
			var list struct {
				Messages []struct {
					Content string
					Error   *struct {
						Kind, Message string
						Retryable     bool
					}
				}
			}
			alice.Do("GET", "/messages/"+session, nil).JSON(t, &list)
			if len(list.Messages) != 2 || list.Messages[1].Error == nil || list.Messages[1].Error.Kind != live.Kind ||
				list.Messages[1].Error.Message != live.Error || list.Messages[1].Content != live.Error {
				t.Errorf("after a reload: %+v", list)
			}
			if n := len(s.Refused()); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}
