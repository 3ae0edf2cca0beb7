package uistreamface

import (
	"encoding/json"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// Whatever is sent becomes a message, an answer to a question, or a refusal that says what is wrong.
func FuzzChatRequest(f *testing.F) {
	f.Add(`{"id":"c","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"hi"},{"type":"file","url":"data:image/png;base64,AA=="}]}]}`)
	f.Add(`{"id":"c","messages":[{"id":"m","role":"assistant","parts":[{"type":"step-start"},{"type":"tool-x","toolCallId":"a","state":"output-available","output":{"a":1}}]}],"tools":[{"name":"x"}]}`)
	f.Add(`{"id":"c","messages":[{"id":"m","role":"assistant","parts":[{"type":"dynamic-tool","toolName":"x","toolCallId":"a","state":"approval-responded","approval":{"id":"i","approved":true}}]}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		var q ChatRequest
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
		if len(in.ask.Names) != len(q.Messages) {
			t.Errorf("something is missing of %s", body)
		}
		if _, err := json.Marshal(in.ask.Request); err != nil {
			t.Errorf("it cannot be stored: %v", err)
		}
	})
}
