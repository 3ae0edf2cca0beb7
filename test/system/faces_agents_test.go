package system

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
)

// told is what an agent is told of a question, as it goes and at the end.
type told struct {
	Method string
	Params struct {
		Meta struct{ RunID string } `json:"_meta"`
	}
	Error  json.RawMessage
	Result struct {
		Content           []struct{ Text string }
		StructuredContent struct{ Status, RunID, SessionID string }
		IsError           bool
	}
}

// callTool begins a call of a tool at /mcp, whose progress is told.
func (c *chatter) callTool(t *testing.T, n *Node, name string, args map[string]any) *stream {
	t.Helper()
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{"name": name, "arguments": args, "_meta": map[string]any{"progressToken": "p"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c.stream(t, n, http.MethodPost, "/mcp", string(body), "Accept", "application/json, text/event-stream", "MCP-Protocol-Version", "2025-11-25")
}

// toldUntil reads what an agent is told until found says so.
func toldUntil(t *testing.T, s *stream, found func(told) bool) told {
	t.Helper()
	for {
		f, ok := s.next()
		if !ok {
			t.Fatal("the stream ended before that was told")
		}
		var m told
		if err := json.Unmarshal([]byte(f.Data), &m); err != nil || m.Error != nil || m.Result.IsError {
			t.Fatalf("%v in %s", err, f.Data)
		}
		if found(m) {
			return m
		}
	}
}

// answered waits for the answer to a call, and fetches it for as long as it is being worked on.
func (c *chatter) answered(t *testing.T, n *Node, s *stream) told {
	t.Helper()
	for {
		end := toldUntil(t, s, func(m told) bool { return len(m.Result.Content) > 0 })
		if end.Result.StructuredContent.Status != "working" {
			return end
		}
		s = c.callTool(t, n, "get_answer", map[string]any{"runId": end.Result.StructuredContent.RunID})
	}
}

// TestAgentsQuestionsSurviveKills kills the node that answers an agent. The agent gets the whole answer
// by the run's id, or when it asks the same again, and nothing is said or asked twice.
func TestAgentsQuestionsSurviveKills(t *testing.T) {
	t.Parallel()
	for _, shape := range []Shape{Embedded, Fleet} {
		t.Run(string(shape), func(t *testing.T) {
			t.Parallel()
			model := newSpeaker(t)
			w := Start(t, shape, append(model.env(), "PRINCIPAL_RATE_LIMIT_PER_MINUTE=0")...)
			for _, tool := range []string{"get_answer", "ask_oracle"} {
				killAsked(t, w, model, tool)
			}
		})
	}
}

func killAsked(t *testing.T, w *World, model *speaker, tool string) {
	t.Helper()
	alice := newChatter(t, w, identitytest.NewActor(tool))
	message := "tell an agent " + alice.session
	held := model.hold(message)
	question := map[string]any{"question": message, "sessionId": alice.session}
	first := alice.callTool(t, w.Node(0), "ask_oracle", question)
	run := toldUntil(t, first, func(m told) bool { return m.Method == "notifications/progress" }).Params.Meta.RunID
	if run == "" {
		t.Fatal("the progress does not name the run")
	}
	<-held.asked
	w.Node(0).Kill()
	<-held.cut
	if w.Shape == Embedded {
		w.Node(0).Start()
		w.Node(0).WaitReady()
	}
	again := map[string]map[string]any{"get_answer": {"runId": run}, "ask_oracle": question}[tool]
	second := alice.callTool(t, w.Node(1), tool, again)
	<-held.asked
	held.letGo()
	check := func(end told) {
		t.Helper()
		if got := end.Result; len(got.Content) != 1 || got.Content[0].Text != held.answer ||
			got.StructuredContent.Status != "done" ||
			got.StructuredContent.RunID != run || got.StructuredContent.SessionID != alice.session {
			t.Errorf("%s: the agent has %+v of run %s, want %q", tool, got, run, held.answer)
		}
	}
	check(alice.answered(t, w.Node(1), second))
	check(alice.answered(t, w.Node(2), alice.callTool(t, w.Node(2), "get_answer", map[string]any{"runId": run})))
	if n := model.times(message); n != 2 {
		t.Errorf("%s: the model was asked %d times, want once by each node", tool, n)
	}
	if texts := alice.texts(t, w.Node(1)); fmt.Sprint(texts) != fmt.Sprint([]string{message, held.answer}) {
		t.Errorf("%s: the transcript: %q", tool, texts)
	}
	if w.Shape == Fleet {
		w.Node(0).Start()
		w.Node(0).WaitReady()
	}
}
