package openaiface

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// Whatever is sent becomes a message, or a refusal that names what is wrong.
func FuzzChatRequest(f *testing.F) {
	f.Add(`{"model":"oracle","messages":[{"role":"user","content":"hi"}]}`)
	f.Add(`{"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{"}}]},{"role":"tool","tool_call_id":"a","content":[{"type":"image_url","image_url":"data:image/png;base64,AA=="}]}]}`)
	f.Add(`{"messages":[{"role":"user","content":[{"type":"file","file":{}}]}],"tools":[{"function":{"name":"x"}}],"tool_choice":"none","response_format":{"type":"json_schema","json_schema":{"schema":{}}},"metadata":{"session_id":7}}`)
	f.Fuzz(func(t *testing.T, body string) {
		var q ChatRequest
		if json.Unmarshal([]byte(body), &q) != nil {
			return
		}
		ask, err := q.read(http.Header{})
		if err != nil {
			if e := fault.From(err); e.Kind != fault.Invalid || e.Message == "" {
				t.Errorf("%v", err)
			}
			return
		}
		if ask.Request.Message == "" && len(ask.Request.Results) == 0 {
			t.Errorf("nothing is asked in %s", body)
		}
		if _, err := json.Marshal(ask.Request); err != nil {
			t.Errorf("it cannot be stored: %v", err)
		}
	})
}
