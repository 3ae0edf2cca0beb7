package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/service/oracle/agent"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/plugin"
)

// notes is a Sink that writes everything down.
type notes struct {
	mu    sync.Mutex
	lines []string
	saved []agent.State
}

func (n *notes) add(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

func (n *notes) Chunk(c plugin.Chunk)     { n.add("say %s", c.Text) }
func (n *notes) ToolStarted(c agent.Call) { n.add("start %s", c.Name) }
func (n *notes) Retract(kept string)      { n.add("back to %q", kept) }
func (n *notes) ToolEnded(c agent.Call)   { n.add("end %s %s %s%s", c.Name, c.Status, c.Output, c.Error) }

func (n *notes) Save(_ context.Context, s agent.State, durable bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.saved = append(n.saved, s)
	if durable {
		n.lines = append(n.lines, "durable")
	}
	return nil
}

func call(name, args string) plugin.ModelToolCall {
	return plugin.ModelToolCall{Name: name, Args: json.RawMessage(args)}
}

func task(sink agent.Sink, tools []agent.Tool, replies ...scripted.Reply) agent.Task {
	p := scripted.Sequence(replies...)
	return agent.Task{
		Model: func(ctx context.Context, _ *plugin.Runtime, req plugin.ModelRequest,
			out func(plugin.Chunk),
		) (plugin.ModelResponse, error) {
			return p.Stream(ctx, req, out)
		},
		Request: plugin.ModelRequest{Purpose: "turn", Messages: []plugin.ModelMessage{{Role: plugin.RoleUser, Text: "go"}}},
		Tools:   func() []agent.Tool { return tools }, Sink: sink,
	}
}

func tool(name string, safe bool,
	run func(ctx context.Context, args json.RawMessage) (plugin.Result, error),
) agent.Tool {
	return agent.Tool{Tool: plugin.Tool{
		Name: name, Description: name, Safe: safe, Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
		Run: func(ctx context.Context, _ *plugin.Runtime, args json.RawMessage) (plugin.Result, error) {
			return run(ctx, args)
		},
	}}
}

func echo(_ context.Context, args json.RawMessage) (plugin.Result, error) {
	return plugin.Text(string(args)), nil
}

func TestToolsRunInParallelAndAnswersComeBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := func(_ context.Context, args json.RawMessage) (plugin.Result, error) {
			time.Sleep(time.Second)
			return plugin.Text(string(args)), nil
		}
		n := &notes{}
		started := time.Now()
		state, err := agent.Run(t.Context(), task(n, []agent.Tool{tool("a", true, slow), tool("b", true, slow)},
			scripted.Calls(call("a", `{"n":1}`), call("b", `{"n":2}`), call("a", `{"n":3}`)), scripted.Text("fine")))
		if err != nil || state.Text() != "fine" || len(state.Steps) != 2 {
			t.Fatalf("%+v %v", state, err)
		}
		if took := time.Since(started); took != time.Second {
			t.Errorf("three calls took %v", took)
		}
		for i, c := range state.Steps[0].Calls {
			if want := fmt.Sprintf(`{"n":%d}`, i+1); c.Status != plugin.Done || c.Output != want {
				t.Errorf("call %d: %+v", i, c)
			}
		}
	})
}

func TestWhatToolsMayDoWrong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tools := []agent.Tool{
			tool("panics", true, func(context.Context, json.RawMessage) (plugin.Result, error) { panic("oops") }),
			tool("fails", true, func(context.Context, json.RawMessage) (plugin.Result, error) {
				return plugin.Result{}, errors.New("password=hunter2")
			}),
			tool("refuses", true, func(context.Context, json.RawMessage) (plugin.Result, error) {
				return plugin.Result{}, plugin.Errorf(403, "not you")
			}),
			tool("hangs", true, func(ctx context.Context, _ json.RawMessage) (plugin.Result, error) {
				<-ctx.Done()
				time.Sleep(time.Minute) // and ignores its context
				return plugin.Result{}, nil
			}),
			tool("talks", true, func(context.Context, json.RawMessage) (plugin.Result, error) {
				return plugin.Text(strings.Repeat("é", 100_000)), nil
			}),
			tool("ungranted", true, func(context.Context, json.RawMessage) (plugin.Result, error) {
				return plugin.Result{}, fmt.Errorf("files: %w", plugin.ErrNoDelegation)
			}),
			tool("strict", true, echo),
		}
		state, err := agent.Run(t.Context(), task(&notes{}, tools, scripted.Calls(
			call("panics", `{"n":1}`), call("fails", `{"n":1}`), call("refuses", `{"n":1}`), call("hangs", `{"n":1}`), call("talks", `{"n":1}`),
			call("ungranted", `{"n":1}`), call("strict", `{"n":"x"}`), call("strict", `{"n":`), call("nobody", `{}`)), scripted.Text("ok")))
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{
			"The tool failed.", "The tool failed.", "not you", "took too long", "[cut:", "has not authorised", "not valid", "not valid", "no tool called",
		} {
			c := state.Steps[0].Calls[i]
			if got := c.Output + c.Error; !strings.Contains(got, want) || strings.Contains(got, "hunter2") || len(got) > 40<<10 {
				t.Errorf("%s: %.200q", c.Name, got)
			}
			if (c.Status == plugin.Done) != (c.Name == "talks") {
				t.Errorf("%s: %s", c.Name, c.Status)
			}
		}
		time.Sleep(2 * time.Minute) // the tool that ignores its context
	})
}

func TestRepeatsAndSteps(t *testing.T) {
	t.Parallel()
	runs := 0
	counted := tool("again", true, func(context.Context, json.RawMessage) (plugin.Result, error) {
		runs++
		return plugin.Text("x"), nil
	})
	asked := 0
	tk := task(&notes{}, []agent.Tool{counted})
	tk.Model = func(_ context.Context, _ *plugin.Runtime, req plugin.ModelRequest,
		out func(plugin.Chunk),
	) (plugin.ModelResponse, error) {
		asked++
		if req.NoCalls && len(req.Tools) == 1 && strings.Contains(req.Messages[len(req.Messages)-1].Note, "Answer now") {
			out(plugin.Chunk{Text: "enough"})
			return plugin.ModelResponse{Text: "enough"}, nil
		}
		return plugin.ModelResponse{ToolCalls: []plugin.ModelToolCall{call("again", `{ "n": 1 }`)}}, nil
	}
	state, err := agent.Run(t.Context(), tk)
	if err != nil || state.Text() != "enough" || runs != 2 || asked > 6 {
		t.Errorf("%d runs, %d questions, %q, %v", runs, asked, state.Text(), err)
	}
	runs, n := 0, 0
	tk.Limits.MaxSteps = 5
	tk.Model = func(_ context.Context, _ *plugin.Runtime, req plugin.ModelRequest,
		_ func(plugin.Chunk),
	) (plugin.ModelResponse, error) {
		if req.NoCalls && len(req.Tools) == 1 && strings.Contains(req.Messages[len(req.Messages)-1].Note, "Answer now") {
			return plugin.ModelResponse{Text: "enough"}, nil
		}
		n++
		return plugin.ModelResponse{ToolCalls: []plugin.ModelToolCall{call("again", fmt.Sprintf(`{"n":%d}`, n))}}, nil
	}
	if state, err := agent.Run(t.Context(), tk); err != nil || runs != 5 || state.Text() != "enough" {
		t.Errorf("%d runs, %v", runs, err)
	}
}

func TestResume(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	ran := map[string]int{}
	count := func(name string) func(context.Context, json.RawMessage) (plugin.Result, error) {
		return func(context.Context, json.RawMessage) (plugin.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			ran[name]++
			return plugin.Text("ok"), nil
		}
	}
	n := &notes{}
	tk := task(n, []agent.Tool{
		tool("safe", true, count("safe")), tool("unsafe", false, count("unsafe")), tool("done", false, count("done")),
	}, scripted.Text("end"))
	args := json.RawMessage(`{"n":1}`)
	tk.State = agent.State{Usage: plugin.Usage{InputTokens: 7}, Steps: []agent.Step{{Text: "I start. ", Calls: []agent.Call{
		{ID: "1", Name: "safe", Args: args},
		{ID: "2", Name: "unsafe", Args: args},
		{ID: "3", Name: "done", Args: args, Status: plugin.Done, Output: "yes"},
	}}}}
	state, err := agent.Run(t.Context(), tk)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]int{"safe": 1}, ran); d != "" {
		t.Error(d)
	}
	if c := state.Steps[0].Calls[1]; !c.Unknown || c.Status != plugin.Failed || !strings.Contains(c.Error, "Nobody knows") {
		t.Errorf("unsafe: %+v", c)
	}
	if state.Text() != "I start. end" || state.Usage.InputTokens != 8 {
		t.Errorf("state: %+v", state)
	}
}

// What cannot be undone is announced before it is done.
func TestUnsafeToolsAreSavedFirst(t *testing.T) {
	t.Parallel()
	n := &notes{}
	unsafe := tool("unsafe", false, func(context.Context, json.RawMessage) (plugin.Result, error) {
		n.add("runs")
		return plugin.Text("x"), nil
	})
	if _, err := agent.Run(t.Context(), task(n, []agent.Tool{unsafe}, scripted.Calls(call("unsafe", `{"n":1}`)),
		scripted.Text("end"))); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"durable", "start unsafe", "runs", "end unsafe done x", "say end"}, n.lines); d != "" {
		t.Error(d)
	}
}

func TestCancelSettlesEverything(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	n := &notes{}
	hangs := tool("hangs", true, func(ctx context.Context, _ json.RawMessage) (plugin.Result, error) {
		cancel(stop)
		<-ctx.Done()
		return plugin.Result{}, ctx.Err()
	})
	state, err := agent.Run(ctx, task(n, []agent.Tool{hangs}, scripted.Calls(call("hangs", `{"n":1}`))))
	if !errors.Is(err, stop) || state.Steps[0].Calls[0].Status != plugin.Failed {
		t.Errorf("%+v %v", state, err)
	}
}

func TestTooLongIsTrimmed(t *testing.T) {
	t.Parallel()
	tk := task(&notes{}, nil)
	for range 9 {
		tk.Request.Messages = append(tk.Request.Messages, plugin.ModelMessage{Role: plugin.RoleUser, Text: "more"})
	}
	tk.Model = func(_ context.Context, _ *plugin.Runtime, req plugin.ModelRequest,
		_ func(plugin.Chunk),
	) (plugin.ModelResponse, error) {
		if len(req.Messages) > 3 {
			return plugin.ModelResponse{}, &model.Error{Kind: model.TooLong}
		}
		return plugin.ModelResponse{Text: "short"}, nil
	}
	tk.Trim = func(_ context.Context, req *plugin.ModelRequest) bool {
		req.Messages = req.Messages[len(req.Messages)/2:]
		return true
	}
	if state, err := agent.Run(t.Context(), tk); err != nil || state.Text() != "short" {
		t.Errorf("%+v %v", state, err)
	}
}

// A refusal that may be one of length is believed once: another one of a conversation
// that was shortened is what it says.
func TestAGuessIsTriedOnce(t *testing.T) {
	t.Parallel()
	tk, asked := task(&notes{}, nil), 0
	tk.Model = func(context.Context, *plugin.Runtime, plugin.ModelRequest,
		func(plugin.Chunk),
	) (plugin.ModelResponse, error) {
		asked++
		return plugin.ModelResponse{}, &model.Error{Kind: model.TooLong, Guessed: true}
	}
	tk.Trim = func(context.Context, *plugin.ModelRequest) bool { return true }
	if _, err := agent.Run(t.Context(), tk); err == nil || asked != 2 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{"n":1}`, `[]`, `null`, `"x"`, `{"n":1e999}`, `{`, ``} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, args string) {
		state, err := agent.Run(t.Context(),
			task(&notes{}, []agent.Tool{tool("a", true, echo)}, scripted.Calls(call("a", args)), scripted.Text("x")))
		if err != nil || state.Steps[0].Calls[0].Status == "" {
			t.Errorf("%q: %+v %v", args, state, err)
		}
		if _, err := json.Marshal(state); err != nil {
			t.Errorf("%q cannot be kept: %v", args, err)
		}
	})
}

// What a model says in a call is kept, shown and sent back: it is bounded, and
// each call has an id of its own, whatever the model calls it.
func TestCallsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 2<<20)
	taken := call("a", `{"n":1}`)
	taken.ID = "call_0_1"
	odd := call(long, `{"n":2}`)
	odd.ID = long
	n := &notes{}
	state, err := agent.Run(t.Context(), task(n, []agent.Tool{tool("a", true, echo)},
		scripted.Calls(taken, call("a", `{"n":3}`), odd, call("a", `{"n":4,"rest":"`+long+`"}`)), scripted.Text("done")))
	if err != nil {
		t.Fatal(err)
	}
	ids, calls := map[string]bool{}, state.Steps[0].Calls
	for _, c := range calls {
		ids[c.ID] = true
		if size := len(c.ID) + len(c.Name) + len(c.Args) + len(c.Error); size > 2000 {
			t.Errorf("a call of %d bytes is kept", size)
		}
	}
	if len(calls) != 4 || len(ids) != 4 || calls[0].ID != "call_0_1" || calls[0].Status != plugin.Done ||
		calls[1].Status != plugin.Done {
		t.Errorf("%d calls, ids %v", len(calls), ids)
	}
	if !strings.Contains(calls[3].Error, "bytes") || calls[3].Status != plugin.Failed {
		t.Errorf("arguments of 2 MB: %s, %q", calls[3].Status, calls[3].Error)
	}
}
