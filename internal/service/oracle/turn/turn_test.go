package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/pluginhttp"
)

// room hears events and answers calls to the page.
type room struct {
	mu     sync.Mutex
	events []oracle.Event
	calls  []oracle.Call
	answer func(c oracle.Call) (oracle.Outcome, error)
}

func (r *room) Publish(_ context.Context, e oracle.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	return nil
}

func (r *room) Dispatch(_ context.Context, c oracle.Call) (oracle.Outcome, error) {
	r.mu.Lock()
	r.calls = append(r.calls, c)
	r.mu.Unlock()
	if r.answer == nil {
		return oracle.Outcome{}, oracle.ErrNoBrowser
	}
	return r.answer(c)
}

func (r *room) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, e := range r.events {
		out = append(out, string(e.Name))
	}
	return out
}

func in(r *room) func(*oraclekit.Deps) {
	return func(d *oraclekit.Deps) {
		d.Socket = func(oracle.SessionChecker) (oracle.Publisher, oracle.Dispatcher, error) { return r, r, nil }
	}
}

func with(plugins ...plugin.Plugin) func(*oraclekit.Deps) {
	return func(d *oraclekit.Deps) { d.Plugins = plugins }
}

func calls(name, args string) scripted.Reply {
	return scripted.Calls(plugin.ModelToolCall{ID: "c1", Name: name, Args: json.RawMessage(args)})
}

// lab is a plugin that does a bit of everything.
type lab struct {
	name       string
	visibility plugin.Visibility
	broken     bool
	refuse     string
}

func (l lab) Describe() plugin.Description {
	return plugin.Description{
		Name:     l.name,
		Manifest: plugin.Manifest{Title: l.name, Summary: "Sums.", WhenToUse: []string{"adding"}, Visibility: l.visibility},
	}
}

func (l lab) Tools() []plugin.Tool {
	return []plugin.Tool{{
		Name: l.name + "_add", Description: "Add.", Safe: true,
		Run: func(ctx context.Context, rt *plugin.Runtime, _ json.RawMessage) (plugin.Result, error) {
			if err := rt.Emit.RenderComponent(ctx,
				plugin.RenderComponentEvent{ComponentName: "Sum", Status: plugin.Done}); err != nil {
				return plugin.Result{}, err
			}
			return plugin.Text("sum for " + rt.User.Timezone), nil
		},
	}}
}

func (l lab) SubAgents() []plugin.SubAgent {
	return []plugin.SubAgent{{Name: l.name + "_helper", Description: "Helps.", Prompt: "Help."}}
}

func (l lab) Prompt(context.Context, *plugin.Runtime) (string, error) {
	if l.broken {
		panic("prompt")
	}
	return "Mind the " + l.name + ".", nil
}

func (l lab) WrapModel(next plugin.ModelFunc) plugin.ModelFunc {
	return func(ctx context.Context, rt *plugin.Runtime, req plugin.ModelRequest,
		out func(plugin.Chunk),
	) (plugin.ModelResponse, error) {
		if l.broken {
			return plugin.ModelResponse{}, errors.New("middleware")
		}
		if l.refuse != "" {
			return plugin.ModelResponse{}, plugin.Errorf(http.StatusPaymentRequired, "%s", l.refuse)
		}
		return next(ctx, rt, req, out)
	}
}

func (l lab) Routes() []pluginhttp.Route {
	return []pluginhttp.Route{{
		Method: "GET", Pattern: "/" + l.name, Summary: "Say who asks",
		Handler: func(w http.ResponseWriter, _ *http.Request, rt *plugin.Runtime) error {
			_, err := w.Write([]byte(rt.User.DID))
			return err
		},
	}}
}

func TestToolCall(t *testing.T) {
	t.Parallel()
	r := &room{}
	n := oracletest.Start(t, scripted.Sequence(calls("lab_add", `{"a":1}`), scripted.Text("It is 2.")), in(r),
		with(lab{name: "lab", visibility: plugin.Always}))
	alice := n.As(t, identitytest.Alice)
	alice.Header.Set("X-Timezone", "Europe/Zurich")
	session := alice.Session()
	frames := alice.Say(session, "1+1")
	want := []string{"run", "reasoning", "delegation_required", "tool_call", "render_component", "tool_call", "message", "reasoning", "done"}
	if d := cmp.Diff(want, oracletest.Events(frames)); d != "" {
		t.Fatal(d)
	}
	var call oracle.ToolCallPayload
	if err := json.Unmarshal(frames[5].Data, &call); err != nil || call.Status != plugin.Done ||
		*call.Output != "sum for Europe/Zurich" || string(call.Args) != `{"a":1,"toolName":"lab_add"}` {
		t.Errorf("tool call: %s", frames[5].Data)
	}
	var list struct {
		Messages []struct {
			Content   string
			ToolCalls []struct{ Name, Status, Output string }
		}
	}
	alice.Do("GET", "/messages/"+session, nil).JSON(t, &list)
	if len(list.Messages) != 3 || list.Messages[1].ToolCalls[0].Output != `"sum for Europe/Zurich"` {
		t.Errorf("transcript: %+v", list)
	}
	if got := alice.Do("GET", "/lab", nil); string(got.Body) != identitytest.Alice.DID {
		t.Errorf("plugin route: %d %s", got.Status, got.Body)
	}
	n.Stop() // the room hears of the end after the stream does
	events := r.names()
	if d := cmp.Diff([]string{"run_started", "tool_call", "render_component", "tool_call", "message_cache_invalidation"}, events[:min(5, len(events))]); d != "" {
		t.Error(d)
	}
}

func TestAFailureIsKeptAndNoModelIsToldOfIt(t *testing.T) {
	t.Parallel()
	p := scripted.Sequence(scripted.Reply{Err: &model.Error{Kind: model.Server, Provider: "x"}}, scripted.Text("Hello again."))
	n := oracletest.Start(t, p)
	alice := n.As(t, identitytest.Alice)
	session := alice.Session()
	alice.Say(session, "hello")
	alice.Say(session, "hello?")
	var list struct {
		Messages []struct {
			Type, Content string
			Error         *oracle.Failure
		}
	}
	alice.Do("GET", "/messages/"+session, nil).JSON(t, &list)
	if len(list.Messages) != 4 || list.Messages[1].Error == nil || !list.Messages[1].Error.Retryable ||
		list.Messages[3].Error != nil {
		t.Fatalf("transcript: %+v", list)
	}
	for _, req := range p.Requests() {
		for _, m := range req.Messages {
			if strings.Contains(m.Text, list.Messages[1].Content) {
				t.Errorf("%s was told %q", req.Purpose, m.Text)
			}
		}
	}
}

func TestCapabilitiesAreLoadedAndRemembered(t *testing.T) {
	t.Parallel()
	p := scripted.Sequence(calls(turn.LoadCapability, `{"name":"lab"}`), calls("lab_add", `{}`), scripted.Text("done"))
	n := oracletest.Start(t, p, with(lab{name: "lab"}))
	alice := n.As(t, identitytest.Alice)
	session := alice.Session()
	alice.Say(session, "add")
	alice.Say(session, "again")
	var offered [][]string
	for _, req := range p.Requests() {
		if req.Purpose != "turn" {
			continue
		}
		var names []string
		for _, tool := range req.Tools {
			names = append(names, tool.Name)
		}
		offered = append(offered, names)
	}
	first := []string{turn.ListCapabilities, turn.LoadCapability}
	loaded := append(first[:2:2], "lab_add", "call_lab_helper")
	if d := cmp.Diff([][]string{first, loaded, loaded, loaded}, offered); d != "" {
		t.Error(d)
	}
}

func TestBrokenPluginIsLeftOut(t *testing.T) {
	t.Parallel()
	p := scripted.Sequence(scripted.Text("fine"))
	n := oracletest.Start(t, p,
		with(lab{name: "bad", visibility: plugin.Always, broken: true}, lab{name: "good", visibility: plugin.Always}))
	alice := n.As(t, identitytest.Alice)
	if frames := alice.Say(alice.Session(), "hi"); turn.TextOf(frames) != "fine" {
		t.Errorf("frames: %v", oracletest.Events(frames))
	}
	if system := p.Requests()[0].System; !strings.Contains(system, "Mind the good.") || strings.Contains(system, "Mind the bad.") {
		t.Errorf("prompt: %s", system)
	}
}

func TestRefusalIsTheAnswer(t *testing.T) {
	t.Parallel()
	n := oracletest.Start(t, nil, with(lab{name: "gate", visibility: plugin.Silent, refuse: "You have no credits left."}))
	alice := n.As(t, identitytest.Alice)
	var reply struct{ Message struct{ Content string } }
	alice.Do("POST", "/messages/"+alice.Session(), map[string]any{"message": "hi"}).JSON(t, &reply)
	if reply.Message.Content != "You have no credits left." {
		t.Errorf("reply: %+v", reply)
	}
}

func TestSubAgentStaysQuiet(t *testing.T) {
	t.Parallel()
	r := &room{}
	p := scripted.New(func(req plugin.ModelRequest) scripted.Reply {
		switch {
		case req.Purpose == "sub-agent":
			return scripted.Text("a ", "secret ", "thought")
		case req.Purpose == "turn" && len(req.Messages) == 1:
			return calls("call_lab_helper", `{"task":"help"}`)
		}
		return scripted.Text("public")
	})
	n := oracletest.Start(t, p, in(r), with(lab{name: "lab", visibility: plugin.Always}))
	alice := n.As(t, identitytest.Alice)
	frames := alice.Say(alice.Session(), "hi")
	if text := turn.TextOf(frames); text != "public" {
		t.Errorf("reply: %q", text)
	}
	n.Stop()
	updates := 0
	for _, name := range r.names() {
		if name == "router_update" {
			updates++
		}
	}
	if updates != 2 {
		t.Errorf("%d router updates in %v", updates, r.names())
	}
}

func TestPageTools(t *testing.T) {
	t.Parallel()
	declared := map[string]any{
		"message": "go", "stream": true,
		"tools": []any{map[string]any{
			"name": "scroll", "description": "Scroll.",
			"schema": map[string]any{"type": "object", "properties": map[string]any{"by": map[string]any{"type": "number"}}},
		}},
		"agActions": []any{map[string]any{"name": "paint", "description": "Paint.", "schema": map[string]any{"type": "string"}, "hasRender": true}},
	}
	for name, c := range map[string]struct {
		tool   string
		answer func(oracle.Call) (oracle.Outcome, error)
		want   string
		status plugin.Status
	}{
		"done": {"scroll", func(oracle.Call) (oracle.Outcome, error) {
			return oracle.Outcome{Result: json.RawMessage(`{"at":5}`)}, nil
		}, `{"at":5}`, plugin.Done},
		"shown": {"paint", func(oracle.Call) (oracle.Outcome, error) {
			return oracle.Outcome{Result: json.RawMessage(`{"component":{"name":"Canvas","args":{"at":5}}}`)}, nil
		}, `"Canvas"`, plugin.Done},
		"error": {"scroll", func(oracle.Call) (oracle.Outcome, error) {
			return oracle.Outcome{Error: "Tool nope not found"}, nil
		}, "Tool nope not found", plugin.Failed},
		"no tab": {"scroll", nil, "no browser is connected", plugin.Failed},
		"unknown": {"paint", func(oracle.Call) (oracle.Outcome, error) {
			return oracle.Outcome{Unknown: true}, nil
		}, "FRONTEND_OUTCOME_UNKNOWN", plugin.Done},
		"failed": {"paint", func(oracle.Call) (oracle.Outcome, error) {
			return oracle.Outcome{Result: json.RawMessage(`{"success":false,"error":"no brush"}`)}, nil
		}, "no brush", plugin.Failed},
	} {
		r := &room{answer: c.answer}
		n := oracletest.Start(t, scripted.Sequence(calls(c.tool, `{"by":5}`), scripted.Text("ok")), in(r))
		alice := n.As(t, identitytest.Alice)
		session := alice.Session()
		resp, err := alice.Open(t.Context(), "POST", "/messages/"+session, declared)
		if err != nil {
			t.Fatal(err)
		}
		frames := oracletest.Stream(t, resp)
		_ = resp.Body.Close()
		event := map[string]string{"scroll": "tool_call", "paint": "action_call"}[c.tool]
		var last oracle.Frame
		for _, f := range frames {
			if f.Event == event {
				last = f
			}
		}
		if drawn := slices.ContainsFunc(frames, func(f oracle.Frame) bool {
			return f.Event == "render_component"
		}); drawn != (name == "shown") {
			t.Errorf("%s: %v", name, oracletest.Events(frames))
		}
		var p struct {
			Status        plugin.Status
			Output, Error string
		}
		if err := json.Unmarshal(last.Data, &p); err != nil || p.Status != c.status ||
			!strings.Contains(p.Output+p.Error, c.want) {
			t.Errorf("%s: %s", name, last.Data)
		}
		n.Stop()
		if got := r.calls[0]; len(r.calls) != 1 || got.SessionID != session || got.Owner != identitytest.Alice.DID ||
			string(got.Args) != `{"by":5}` || !strings.HasPrefix(got.ID, "c1:") {
			t.Errorf("%s: %+v", name, r.calls)
		}
		for _, e := range r.events {
			if e.Name == oracle.EventActionCall {
				t.Error("an action's status went to the room")
			}
		}
	}
}

func TestLongConversationsAreSummarised(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("bees and honey ", 9000) // about a third of the window
	p := scripted.New(func(req plugin.ModelRequest) scripted.Reply {
		if req.Purpose == "summary" {
			return scripted.Text("They talked about bees.")
		}
		return scripted.Text("ok")
	})
	n := oracletest.Start(t, p)
	alice := n.As(t, identitytest.Alice)
	session := alice.Session()
	for range 3 {
		alice.Say(session, long)
	}
	alice.Say(session, "and?")
	all := p.Requests()
	var last plugin.ModelRequest
	for _, req := range all {
		if req.Purpose == "turn" {
			last = req
		}
	}
	if !strings.Contains(last.Messages[0].Text, "They talked about bees.") || len(last.Messages) > 6 {
		t.Errorf("%d messages, first %.80q", len(last.Messages), last.Messages[0].Text)
	}
}
