package oraclesocket

import (
	"encoding/json"
	"testing"

	"github.com/castalia-org/castalia/internal/service/oracle"
)

// FuzzResult reads what a page may send as a result: whatever it is, the outcome
// is one that the agent can be shown, and never an unknown one.
func FuzzResult(f *testing.F) {
	for _, seed := range []string{
		`{"toolCallId":"t","result":{"a":1}}`, `{"toolCallId":"t","result":null,"error":"no"}`, `{"result":{"success":false}}`,
		`{"error":{"issues":[1]}}`, `{"error":false}`, `{"error":""}`, `{"sessionId":7}`, `[]`, `"x"`, `null`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r result
		if json.Unmarshal(data, &r) != nil {
			return
		}
		for _, kind := range []oracle.CallKind{oracle.BrowserTool, oracle.Action} {
			o := r.outcome(kind)
			if o.Unknown {
				t.Errorf("%s has an unknown outcome", data)
			}
			if o.Result != nil && !json.Valid(o.Result) {
				t.Errorf("%s has the result %q", data, o.Result)
			}
			if _, err := json.Marshal(bounded(&o)); err != nil {
				t.Errorf("%s cannot be sent on: %v", data, err)
			}
		}
	})
}
