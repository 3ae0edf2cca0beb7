package openaiface_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/protocol/sse"
	"github.com/castalia-org/castalia/internal/service/oracle/face/openaiface"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

const responsesPath = "/v1/responses"

func respond(t *testing.T, c *oracletest.Client, body object) openaiface.Response {
	t.Helper()
	body["model"] = "oracle"
	r := c.Do("POST", responsesPath, body)
	if r.Status != 200 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	var got openaiface.Response
	r.JSON(t, &got)
	return got
}

var weatherTool = []any{object{"type": "function", "name": "get_weather", "parameters": object{"type": "object"}}, object{"type": "web_search"}}

// A response continues an earlier one, also when others have followed that, and
// calls of the caller's tools are answered in the next.
func TestResponsesFollowEachOther(t *testing.T) {
	t.Parallel()
	model := scripted.Sequence(wantsWeather(), scripted.Text("Warm."), scripted.Text("Bye."), scripted.Text("Another way."))
	n := oracletest.Start(t, model)
	alice, bob := n.As(t, identitytest.Alice), n.As(t, identitytest.Bob)
	first := respond(t, alice, object{"tools": weatherTool, "instructions": "Be brief.", "input": []any{
		says("user", "hi"),
		object{"type": "message", "role": "assistant", "content": []any{object{"type": "output_text", "text": "Hello."}}},
		object{"role": "user", "content": []any{object{"type": "input_text", "text": "How is the weather?"}}},
	}})
	if len(first.Output) != 1 || first.Output[0].Type != "function_call" || *first.Output[0].Arguments != `{"place":"Riga"}` || first.Status != "completed" {
		t.Fatalf("%+v", first)
	}
	second := respond(t, alice, object{"previous_response_id": first.ID, "tools": weatherTool, "input": []any{
		object{"type": "function_call_output", "call_id": first.Output[0].CallID, "output": "21 degrees"},
	}})
	if second.Output[0].Content[0].Text != "Warm." || second.Usage.TotalTokens != 2 || *second.PreviousResponse != first.ID {
		t.Errorf("%+v", second)
	}
	soFar := []string{"user: hi", "assistant: Hello.", "user: How is the weather?", `assistant:  get_weather{"place":"Riga"}`, "tool: 21 degrees"}
	if d := cmp.Diff(soFar, told(turns(model)[1])); d != "" {
		t.Error(d)
	}
	for i, answer := range []string{"Bye.", "Another way."} {
		question := "then " + answer
		if got := respond(t, alice, object{"previous_response_id": second.ID, "input": question}); got.Output[0].Content[0].Text != answer {
			t.Errorf("%+v", got)
		}
		if d := cmp.Diff(append(soFar[:5:5], "assistant: Warm.", "user: "+question), told(turns(model)[2+i])); d != "" {
			t.Error(d)
		}
	}
	if sessions(t, alice) != 0 {
		t.Error("a session is listed")
	}
	for name, c := range map[string]struct {
		who *oracletest.Client
		id  string
	}{"somebody else's": {bob, first.ID}, "none": {alice, "resp_x"}} {
		r := c.who.Do("POST", responsesPath, object{"model": "oracle", "input": "x", "previous_response_id": c.id})
		if r.Status != 400 || !strings.Contains(string(r.Body), `"code":"previous_response_not_found"`) || !strings.Contains(string(r.Body), `"param":"previous_response_id"`) {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
	}
}

// Calls of one answer that come as items of their own are one answer.
func TestCallsOfOneAnswer(t *testing.T) {
	t.Parallel()
	model := scripted.Sequence(scripted.Text("Done."))
	alice := oracletest.Start(t, model).As(t, identitytest.Alice)
	call := func(id string) object {
		return object{"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"}
	}
	result := func(id string) object {
		return object{"type": "function_call_output", "call_id": id, "output": []any{object{"type": "input_text", "text": id}}}
	}
	respond(t, alice, object{"input": []any{says("user", "go"), object{"type": "reasoning"}, call("a"), call("b"), result("a"), result("b")}})
	if d := cmp.Diff([]string{"user: go", "assistant:  f{} f{}", "tool: a", "tool: b"}, told(turns(model)[0])); d != "" {
		t.Error(d)
	}
}

func TestAConversationOfResponsesIsASession(t *testing.T) {
	t.Parallel()
	model := scripted.Sequence(scripted.Text("One."), scripted.Text("Two."), scripted.Text("Three."))
	alice := oracletest.Start(t, model).As(t, identitytest.Alice)
	respond(t, alice, object{"conversation": object{"id": "c1"}, "input": "first"})
	second := respond(t, alice, object{"conversation": "c1", "input": "second"})
	respond(t, alice, object{"previous_response_id": second.ID, "input": "third"})
	if d := cmp.Diff([]string{"user: first", "assistant: One.", "user: second", "assistant: Two.", "user: third"}, told(turns(model)[2])); d != "" {
		t.Error(d)
	}
	if n := sessions(t, alice); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

func TestResponseEvents(t *testing.T) {
	t.Parallel()
	cut := scripted.Text("Too", " long")
	cut.Finish = "length"
	both := wantsWeather()
	both.Chunks = scripted.Text("Wait").Chunks
	alice := oracletest.Start(t, scripted.Sequence(both, cut)).As(t, identitytest.Alice)
	stream := func(input string) (kinds []string, last openaiface.Response) {
		r := alice.Do("POST", responsesPath, object{"model": "oracle", "stream": true, "input": input, "tools": weatherTool})
		for d := sse.NewDecoder(strings.NewReader(string(r.Body)), 0); ; {
			e, err := d.Next()
			if err != nil {
				return kinds, last
			}
			var event struct {
				Type     string
				Sequence *int `json:"sequence_number"`
				Response openaiface.Response
			}
			must(t, json.Unmarshal(e.Data, &event))
			if event.Type != e.Name || event.Sequence == nil || *event.Sequence != len(kinds) {
				t.Errorf("%s %s", e.Name, e.Data)
			}
			kinds, last = append(kinds, strings.TrimPrefix(event.Type, "response.")), event.Response
		}
	}
	kinds, last := stream("weather")
	want := []string{
		"created", "in_progress", "output_item.added", "content_part.added", "output_text.delta", "output_text.done", "content_part.done", "output_item.done",
		"output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done", "completed",
	}
	if d := cmp.Diff(want, kinds); d != "" || len(last.Output) != 2 || last.Status != "completed" {
		t.Errorf("%s %+v", d, last)
	}
	if kinds, last = stream("long"); kinds[len(kinds)-1] != "incomplete" || last.Incomplete.Reason != "max_output_tokens" {
		t.Errorf("%v %+v", kinds, last)
	}
}

func TestResponsesRefuse(t *testing.T) {
	t.Parallel()
	alice := oracletest.Start(t, nil).As(t, identitytest.Alice)
	for name, input := range map[string]any{"nothing": nil, "a number": 7, "no items": []any{}, "an empty text": "", "an unknown item": []any{object{"type": "computer_call"}}} {
		r := alice.Do("POST", responsesPath, object{"model": "oracle", "input": input})
		if r.Status != 400 || !strings.Contains(string(r.Body), `"param":"input"`) {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
	}
}
