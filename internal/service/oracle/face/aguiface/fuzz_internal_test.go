package aguiface

import (
	"encoding/json"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// An answer that says yes and no is none.
func TestAnApprovalIsSaidOnce(t *testing.T) {
	t.Parallel()
	for payload, fine := range map[string]bool{
		`{"approved":true}`: true, `{"approved":false,"note":"x"}`: true,
		`{"approved":false,"Approved":true}`: false, `{"approved":false,"approved":true}`: false, `{"APPROVED":true,"approved":false}`: false,
	} {
		q := RunAgentInput{ThreadID: "t", RunID: "r"}
		body := `{"threadId":"t","runId":"r","resume":[{"interruptId":"i","status":"resolved","payload":` + payload + `}]}`
		if err := json.Unmarshal([]byte(body), &q); err != nil {
			t.Fatal(err)
		}
		if _, err := q.decided(); (err == nil) != fine {
			t.Errorf("%s: %v", payload, err)
		}
	}
}

// Whatever is sent becomes a message, or a refusal that says what is wrong.
func FuzzRunAgentInput(f *testing.F) {
	f.Add(`{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"hi"}]}`)
	f.Add(`{"threadId":"t","runId":"r","state":{"a":1},"context":[{"description":"d","value":"v"}],"messages":[{"id":"00000000-0000-0000-0000-000000000000.1","role":"assistant","toolCalls":[{"id":"a","function":{"name":"f","arguments":"{"}}]},{"id":"x","role":"tool","toolCallId":"a","content":[{"type":"image","source":{"type":"data","value":"AA==","mimeType":"image/png"}}]}]}`)
	f.Add(`{"threadId":"t","runId":"r","messages":[],"tools":[{"name":"x"}],"resume":[{"interruptId":"i","status":"resolved","payload":{"approved":true}},{"interruptId":"j","status":"cancelled"}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		var q RunAgentInput
		if json.Unmarshal([]byte(body), &q) != nil {
			return
		}
		in, err := q.read()
		if err != nil {
			if e := fault.From(err); e.Kind != fault.Invalid || e.Message == "" {
				t.Errorf("%v", err)
			}
			return
		}
		if len(in.names) != len(q.Messages) || len(in.decided) != len(q.Resume) {
			t.Errorf("something is missing of %s", body)
		}
		if _, err := json.Marshal(in.ask.Request); err != nil {
			t.Errorf("it cannot be stored: %v", err)
		}
	})
}
