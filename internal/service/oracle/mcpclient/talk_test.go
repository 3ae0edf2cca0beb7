package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/service/oracle/agent"
	"github.com/castalia-org/castalia/internal/service/oracle/mcpclient"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/plugin"
)

var sizeForm = map[string]any{
	"type": "object", "required": []string{"size"},
	"properties": map[string]any{"size": map[string]any{"type": "string", "enum": []string{"small", "large"}}},
}

// inn is a server whose tools ask, tell how far they are and take their time.
type inn struct {
	begun, ended chan struct{}
	step         chan struct{}
}

func (i inn) start(t *testing.T, options *mcp.StreamableHTTPOptions) []agent.Tool {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "inn", Version: "1"}, nil)
	text := func(s string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
	}
	mcp.AddTool(s, &mcp.Tool{Name: "ask"},
		func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			said, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Mode: "form", Message: "Which room?", RequestedSchema: sizeForm})
			if err != nil {
				return nil, nil, err
			}
			return text(fmt.Sprint(said.Action, " ", said.Content["size"])), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "ask_by_result"},
		func(_ context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			if len(r.Params.InputResponses) == 0 {
				ask := func(m string) *mcp.ElicitParams {
					return &mcp.ElicitParams{Mode: "form", Message: m, RequestedSchema: sizeForm}
				}
				return &mcp.CallToolResult{
					InputRequests: mcp.InputRequestMap{"a": ask("Which room?"), "b": ask("Which bed?")}, RequestState: "kept",
				}, nil, nil
			}
			said := func(id string) any {
				e, _ := r.Params.InputResponses[id].(*mcp.ElicitResult)
				return e.Content["size"]
			}
			return text(fmt.Sprint(r.Params.RequestState, " ", said("a"), " ", said("b"))), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "ask_much"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			all := mcp.InputRequestMap{}
			for n := range agent.MaxRounds + 1 {
				all[fmt.Sprint(n)] = &mcp.ElicitParams{Mode: "form", Message: "And?", RequestedSchema: sizeForm}
			}
			return &mcp.CallToolResult{InputRequests: all}, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "walk"},
		func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			for n := range 3 {
				<-i.step
				err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: r.Params.GetProgressToken(), Progress: float64(n + 1), Total: 3, Message: "walking",
				})
				if err != nil {
					return nil, nil, err
				}
			}
			return text("there"), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "sleep"},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			close(i.begun)
			<-ctx.Done()
			close(i.ended)
			return nil, nil, ctx.Err()
		})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, options)
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	e := mcpclient.New(nil, nil, mcpclient.Config{ListTimeout: 5 * time.Second, CallTimeout: 20 * time.Second})
	servers := []plugin.MCPServer{{Name: "inn", URL: web.URL, AllowPrivate: true}}
	tools, done := e.Tools(t.Context(), servers, turn.MCPUser{DID: "did:key:alice"})
	t.Cleanup(done)
	return tools
}

func call(ctx context.Context, t *testing.T, tools []agent.Tool, name string, rt *plugin.Runtime) (string, error) {
	t.Helper()
	for _, tool := range tools {
		if tool.Name == name {
			r, err := tool.Run(ctx, rt, json.RawMessage(`{}`))
			return r.Text, err
		}
	}
	t.Fatalf("no tool %s", name)
	return "", nil
}

func wantAsk(t *testing.T, err error, message string) plugin.Ask {
	t.Helper()
	asks, ok := errors.AsType[*plugin.AskError](err)
	if !ok || asks.Ask.From != "inn" || asks.Ask.Message != message || !strings.Contains(string(asks.Ask.Form), `"large"`) {
		t.Fatalf("not asked: %v", err)
	}
	return asks.Ask
}

// What a server asks in the course of a call is put to the person, and the call made again.
func TestServersAskInTheCourseOfACall(t *testing.T) {
	t.Parallel()
	tools := inn{}.start(t, nil)
	for range 2 { // the second one has a connection of its own
		_, err := call(t.Context(), t, tools, "inn__ask", &plugin.Runtime{ToolCallID: "c"})
		ask := wantAsk(t, err, "Which room?")
		got, err := call(t.Context(), t, tools, "inn__ask", &plugin.Runtime{
			ToolCallID: "c", Answered: &plugin.Answered{Ask: ask, Content: json.RawMessage(`{"size":"large"}`)},
		})
		if err != nil || got != "accept large" {
			t.Fatalf("with the answer: %q %v", got, err)
		}
	}
}

// What is said to one call answers no other that asks the same at the same time.
func TestAnAnswerIsForItsOwnCall(t *testing.T) {
	t.Parallel()
	tools := inn{}.start(t, nil)
	_, err := call(t.Context(), t, tools, "inn__ask", &plugin.Runtime{ToolCallID: "c"})
	ask := wantAsk(t, err, "Which room?")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			rt := &plugin.Runtime{ToolCallID: fmt.Sprint("c", i)}
			if i%2 == 0 {
				rt.Answered = &plugin.Answered{Ask: ask, Content: json.RawMessage(`{"size":"small"}`)}
			}
			got, err := call(t.Context(), t, tools, "inn__ask", rt)
			_, asks := errors.AsType[*plugin.AskError](err)
			if answered := i%2 == 0; answered && got != "accept small" || !answered && !asks {
				t.Errorf("call %d: %q %v", i, got, err)
			}
		})
	}
	all.Wait()
}

func TestServersAskByTheirResult(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]*mcp.StreamableHTTPOptions{"by its result": {Stateless: true}, "in the course of the call": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answersBoth(t, inn{}.start(t, options))
		})
	}
}

// Nobody is asked for more than can be given: all answers would be lost.
func TestServersThatAskTooMuchAskNothing(t *testing.T) {
	t.Parallel()
	tools := inn{}.start(t, &mcp.StreamableHTTPOptions{Stateless: true})
	_, err := call(t.Context(), t, tools, "inn__ask_much", nil)
	if _, asks := errors.AsType[*plugin.AskError](err); asks || err == nil || !strings.Contains(err.Error(), "more than 5 questions") {
		t.Errorf("asked: %v", err)
	}
}

// answersBoth answers two questions of one call.
func answersBoth(t *testing.T, tools []agent.Tool) {
	t.Helper()
	_, err := call(t.Context(), t, tools, "inn__ask_by_result", nil)
	said, rounds, got := map[string]string{"Which room?": "large", "Which bed?": "small"}, 0, ""
	for rounds = 0; err != nil && rounds < 4; rounds++ {
		asks, ok := errors.AsType[*plugin.AskError](err)
		if !ok {
			t.Fatal(err)
		}
		content, _ := json.Marshal(map[string]string{"size": said[asks.Ask.Message]})
		got, err = call(t.Context(), t, tools, "inn__ask_by_result",
			&plugin.Runtime{Answered: &plugin.Answered{Ask: asks.Ask, Content: content}})
	}
	if err != nil || got != "kept large small" || rounds != 2 {
		t.Errorf("after %d rounds: %q %v", rounds, got, err)
	}
}

// told keeps what people are shown.
type told struct {
	plugin.Emitter
	mu   sync.Mutex
	text []string
	each chan struct{}
}

func (e *told) Reasoning(_ context.Context, text string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.text = append(e.text, text)
	e.each <- struct{}{}
	return nil
}

func TestPeopleSeeHowFarACallIs(t *testing.T) {
	t.Parallel()
	i := inn{step: make(chan struct{}, 3)}
	tools := i.start(t, nil)
	out := &told{each: make(chan struct{}, 9)}
	type ended struct {
		text string
		err  error
	}
	end := make(chan ended, 1)
	go func() {
		text, err := call(t.Context(), t, tools, "inn__walk", &plugin.Runtime{ToolCallID: "c", Emit: out})
		end <- ended{text, err}
	}()
	i.step <- struct{}{}
	<-out.each // the first is shown at once
	i.step <- struct{}{}
	i.step <- struct{}{}
	if got := <-end; got.err != nil || got.text != "there" {
		t.Fatalf("walked: %q %v", got.text, got.err)
	}
	if out.text[0] != "inn: 1 of 3, walking\n" {
		t.Errorf("shown: %q", out.text)
	}
}

func TestAStoppedTurnStopsItsServer(t *testing.T) {
	t.Parallel()
	i := inn{begun: make(chan struct{}), ended: make(chan struct{})}
	tools := i.start(t, nil)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		<-i.begun
		stop()
	}()
	if _, err := call(ctx, t, tools, "inn__sleep", nil); err == nil {
		t.Error("it did not stop")
	}
	select {
	case <-i.ended:
	case <-time.After(20 * time.Second):
		t.Error("the server went on")
	}
}

// A call that is stopped waits for no other of its connection, and ends none.
func TestAStoppedCallLeavesTheOthers(t *testing.T) {
	t.Parallel()
	i := inn{begun: make(chan struct{}), ended: make(chan struct{}), step: make(chan struct{}, 3)}
	tools := i.start(t, nil)
	out := &told{each: make(chan struct{}, 9)}
	walked := make(chan error, 1)
	go func() {
		_, err := call(t.Context(), t, tools, "inn__walk", &plugin.Runtime{ToolCallID: "c", Emit: out})
		walked <- err
	}()
	i.step <- struct{}{}
	<-out.each
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stopped := make(chan error, 1)
	go func() {
		_, err := call(ctx, t, tools, "inn__sleep", nil)
		stopped <- err
	}()
	<-i.begun
	stop()
	select {
	case err := <-stopped:
		if err == nil {
			t.Error("it did not stop")
		}
	case err := <-walked:
		t.Errorf("the other call ended first: %v", err)
	case <-time.After(10 * time.Second):
		t.Error("it waits for the other call")
	}
	i.step <- struct{}{}
	i.step <- struct{}{}
	if err := <-walked; err != nil {
		t.Errorf("the other call: %v", err)
	}
}
