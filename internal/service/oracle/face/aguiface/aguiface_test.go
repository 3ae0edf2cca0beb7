package aguiface_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/protocol/sse"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
)

const path = "/ag-ui"

type object = map[string]any

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func user(id, text string) object { return object{"id": id, "role": "user", "content": text} }

func input(runID string, messages ...any) object {
	return object{"threadId": "t", "runId": runID, "messages": messages}
}

// events reads a stream to its end.
func events(t *testing.T, body io.Reader) []object {
	t.Helper()
	var out []object
	for d := sse.NewDecoder(body, 0); ; {
		e, err := d.Next()
		if err != nil {
			return out
		}
		var one object
		must(t, json.Unmarshal(e.Data, &one))
		out = append(out, one)
	}
}

// run sends a request and reads its events.
func run(t *testing.T, c *oracletest.Client, body object) []object {
	t.Helper()
	r := c.Do("POST", path, body)
	if r.Status != http.StatusOK {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	return events(t, strings.NewReader(string(r.Body)))
}

func types(list []object) []string {
	var out []string
	for _, e := range list {
		out = append(out, e["type"].(string))
	}
	return slices.Compact(out)
}

func said(list []object) (text string) {
	for _, e := range list {
		if e["type"] == "TEXT_MESSAGE_CONTENT" {
			text += e["delta"].(string)
		}
	}
	return text
}

// Thoughts, texts and the oracle's own calls are messages of their own, and each ends before the next begins.
func TestEvents(t *testing.T) {
	t.Parallel()
	thinks := scripted.Reply{Chunks: []plugin.Chunk{{Reasoning: "hm"}, {Text: "Let me see."}}, Calls: []plugin.ModelToolCall{
		{ID: "c1", Name: "load_capability", Args: json.RawMessage(`{"name":"none"}`)},
	}}
	alice := oracletest.Start(t, scripted.Sequence(thinks, scripted.Text("Hello", " you"))).As(t, identitytest.Alice)
	got := run(t, alice, input("r", user("m1", "hi")))
	want := []string{
		"RUN_STARTED", "REASONING_START", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END", "REASONING_END",
		"TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT",
		"TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED",
	}
	if d := cmp.Diff(want, types(got)); d != "" {
		t.Error(d)
	}
	if last := got[len(got)-1]; last["outcome"] != nil {
		t.Errorf("a client from before 1.0 is told %v", last)
	}
	next := input("r2", user("m1", "hi"), user("m2", "again"))
	next["protocolVersion"] = "1.0"
	got = run(t, alice, next)
	if last := got[len(got)-1]; !strings.Contains(cmp.Diff(last["outcome"], nil), "success") {
		t.Errorf("it ended with %v", last)
	}
}

// A run that is asked for again is read again: nobody is asked twice, and nothing is said twice.
func TestTheSameRunAgain(t *testing.T) {
	t.Parallel()
	model := scripted.Sequence(scripted.Text("one"), scripted.Text("two"), scripted.Text("three"))
	n := oracletest.Start(t, model)
	alice := n.As(t, identitytest.Alice)
	first := run(t, alice, input("r", user("m1", "count")))
	partial := object{"id": first[1]["messageId"], "role": "assistant", "content": "on"}
	for name, body := range map[string]object{
		"the same":                input("r", user("m1", "count")),
		"with some of the answer": input("r", user("m1", "count"), partial),
		"without any messages":    input("r"),
	} {
		again := run(t, alice, body)
		if said(again) != "one" || again[1]["type"] != "MESSAGES_SNAPSHOT" {
			t.Errorf("%s: %v", name, again)
		}
		for _, m := range again[1]["messages"].([]any) {
			if m.(object)["role"] != "user" {
				t.Errorf("%s: the snapshot has %v", name, m)
			}
		}
	}
	if got := said(run(t, alice, input("r", user("m1", "count"), object{"id": "a", "role": "assistant", "content": "one"},
		user("m2", "on")))); got != "two" {
		t.Errorf("something new under an old name: %q", got)
	}
	if got := said(run(t, n.As(t, identitytest.Bob), input("r", user("m1", "count")))); got != "three" {
		t.Errorf("Bob's own: %q", got)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	alice := oracletest.Start(t, nil).As(t, identitytest.Alice)
	hi := user("m", "hi")
	with := func(key string, value any) object {
		body := input("r", hi)
		body[key] = value
		return body
	}
	for name, c := range map[string]struct {
		body   any
		status int
		code   string
	}{
		"no JSON":       {`{`, 400, "invalid"},
		"no thread":     {with("threadId", ""), 400, "invalid"},
		"a long thread": {with("threadId", strings.Repeat("x", 201)), 400, "invalid"},
		"no run":        {with("runId", ""), 400, "invalid"},
		"no messages":   {input("r"), 400, "invalid"},
		"a role":        {input("r", object{"id": "m", "role": "king", "content": "hi"}), 400, "invalid"},
		"content":       {input("r", object{"id": "m", "role": "user", "content": 7}), 400, "invalid"},
		"a lost result": {input("r", object{"id": "m", "role": "tool", "content": "hi"}), 400, "invalid"},
		"a tool's name": {with("tools", []any{object{"name": "load_capability"}}), 400, "invalid"},
		"no word":       {with("resume", []any{object{"interruptId": "x", "status": "resolved"}}), 400, "invalid"},
		"a status":      {with("resume", []any{object{"interruptId": "x", "status": "maybe"}}), 400, "invalid"},
		"no interrupt":  {with("resume", []any{object{"interruptId": "x", "status": "cancelled"}}), 404, "not_found"},
		"a crowd":       {`{"messages":[` + strings.Repeat(`{},`, 200_000) + `{}]}`, 400, "context_length_exceeded"},
		"too long":      {input("r", user("m", strings.Repeat("x", 1<<20+1))), 400, "context_length_exceeded"},
	} {
		r := alice.Do("POST", path, c.body)
		var got struct{ Type, Message, Code string }
		r.JSON(t, &got)
		if r.Status != c.status || got.Type != "RUN_ERROR" || got.Message == "" || got.Code != c.code {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
	}
}

// A failed turn ends its stream with an error.
func TestFailures(t *testing.T) {
	t.Parallel()
	alice := oracletest.Start(t, scripted.Sequence(scripted.Reply{Err: io.ErrUnexpectedEOF})).As(t, identitytest.Alice)
	got := run(t, alice, input("r", user("m", "hi")))
	if d := cmp.Diff([]string{"RUN_STARTED", "RUN_ERROR"}, types(got)); d != "" {
		t.Error(d)
	}
}

// A program that hangs up has stopped its turn.
func TestHangingUpStopsTheTurn(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	model := scripted.New(func(plugin.ModelRequest) scripted.Reply {
		return scripted.Reply{Chunks: []plugin.Chunk{{Text: "slow"}}, Wait: make(chan struct{})}
	})
	alice := oracletest.Start(t, model).As(t, identitytest.Alice)
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := alice.Open(ctx, "POST", path, input("r", user("m", "hi")))
	must(t, err)
	runID := resp.Header.Get("X-Run-Id")
	go func() {
		defer close(ended)
		follow, err := alice.Open(t.Context(), "GET", "/runs/"+runID, nil) //nolint:bodyclose // Stream closes it
		if err != nil {
			t.Error(err)
			return
		}
		frames := oracletest.Stream(t, follow)
		if last := string(frames[len(frames)-1].Data); !strings.Contains(last, `"aborted"`) {
			t.Errorf("it ended with %s", last)
		}
	}()
	cancel()
	_ = resp.Body.Close()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("it goes on")
	}
}

// A call that waits ends the run; its answer goes on with it, once, however often it comes.
func TestInterrupts(t *testing.T) {
	t.Parallel()
	p := &oracletest.Post{}
	model := scripted.Sequence(scripted.Calls(plugin.ModelToolCall{ID: "c", Name: "send", Args: json.RawMessage(`{}`)}),
		scripted.Text("Done."))
	n := oracletest.Start(t, model, func(d *oraclekit.Deps) { d.Plugins = append(d.Plugins, p) })
	alice := n.As(t, identitytest.Alice)
	first := run(t, alice, input("r", user("m", "send it")))
	outcome, ok := first[len(first)-1]["outcome"].(object)
	if !ok || outcome["type"] != "interrupt" || p.Sent.Load() != 0 {
		t.Fatalf("%v", first)
	}
	id := outcome["interrupts"].([]any)[0].(object)["id"]
	answer := input("r2", user("m", "send it"))
	answer["resume"] = []any{object{"interruptId": id, "status": "resolved", "payload": object{"approved": true}}}
	if r := n.As(t, identitytest.Bob).Do("POST", path, answer); r.Status != http.StatusNotFound {
		t.Errorf("Bob answers: %d %s", r.Status, r.Body)
	}
	for range 2 {
		if got := run(t, alice, answer); said(got) != "Done." || got[len(got)-1]["type"] != "RUN_FINISHED" {
			t.Errorf("%v", got)
		}
	}
	answer["resume"] = []any{object{"interruptId": id, "status": "cancelled"}}
	if r := alice.Do("POST", path, answer); r.Status != http.StatusConflict {
		t.Errorf("another word: %d %s", r.Status, r.Body)
	}
	if p.Sent.Load() != 1 {
		t.Errorf("it was sent %d times", p.Sent.Load())
	}
}

// To approve is the person's own: a delegation does not, neither in the conversation that waits nor by
// way of another one.
func TestADelegationApprovesNowhere(t *testing.T) {
	t.Parallel()
	p := &oracletest.Post{}
	send := scripted.Calls(plugin.ModelToolCall{ID: "c", Name: "send", Args: json.RawMessage(`{}`)})
	n := oracletest.Start(t, scripted.Sequence(send, scripted.Text("Hello."), scripted.Text("Done.")),
		func(d *oraclekit.Deps) { d.Plugins = append(d.Plugins, p) })
	alice, program := n.As(t, identitytest.Alice), n.As(t, identitytest.Alice)
	program.Delegation(identitytest.UserToOracle(t, identitytest.Alice, identitytest.Oracle.DID))
	first := run(t, alice, input("r", user("m", "send it")))
	id := first[len(first)-1]["outcome"].(object)["interrupts"].([]any)[0].(object)["id"]
	elsewhere := input("r2", user("m", "hi"))
	elsewhere["threadId"] = "u"
	run(t, program, elsewhere)
	for thread, status := range map[string]int{"t": http.StatusForbidden, "u": http.StatusNotFound} {
		answer := input("r3", user("m", "send it"))
		answer["threadId"] = thread
		answer["resume"] = []any{object{"interruptId": id, "status": "resolved", "payload": object{"approved": true}}}
		if r := program.Do("POST", path, answer); r.Status != status {
			t.Errorf("in %s: %d %s", thread, r.Status, r.Body)
		}
	}
	var waits struct{ Approvals []any }
	alice.Do("GET", "/approvals", nil).JSON(t, &waits)
	if len(waits.Approvals) != 1 || p.Sent.Load() != 0 {
		t.Errorf("%d wait, %d were sent", len(waits.Approvals), p.Sent.Load())
	}
}

// What an answer points to is told in an event of the oracle's own, once its text has ended.
func TestCitations(t *testing.T) {
	t.Parallel()
	model, with := oracletest.Citing()
	alice := oracletest.Start(t, model, with).As(t, identitytest.Alice)
	got := run(t, alice, input("r", user("m1", "when?")))
	i := slices.IndexFunc(got, func(e object) bool { return e["name"] == "castalia.citations" })
	if i < 0 || got[i]["type"] != "CUSTOM" || said(got[:i]) != oracletest.CitingText || got[len(got)-1]["type"] != "RUN_FINISHED" {
		t.Fatalf("%v", types(got))
	}
	cited, _ := got[i]["value"].(object)["citations"].([]any)
	if len(cited) != 2 || cited[0].(object)["passage"] != "c/mill/0" || cited[0].(object)["page"] != 3.0 {
		t.Errorf("%v", cited)
	}
}

// A turn that is refused in its course ends with an error, and nobody said so.
func TestWhatIsRefusedIsAnError(t *testing.T) {
	t.Parallel()
	till := &oracletest.Till{}
	alice := oracletest.Start(t, nil, till.With).As(t, identitytest.Alice)
	list := run(t, alice, input("r", user("m", "hi")))
	last := list[len(list)-1]
	if last["type"] != "RUN_ERROR" || last["message"] != oracletest.SpentText || last["code"] != "payment_required" {
		t.Errorf("%v", last)
	}
	for _, e := range list {
		if e["type"] == "TEXT_MESSAGE_CONTENT" || e["type"] == "RUN_FINISHED" {
			t.Errorf("%v", e)
		}
	}
}
