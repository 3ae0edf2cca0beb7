package oracle_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/oracle"
)

// TestWhatIsDocumentedIsRead fills every member that the documentation of a
// message has: none of them is unknown to the parser, and none is lost.
func TestWhatIsDocumentedIsRead(t *testing.T) {
	t.Parallel()
	tool := oracle.DeclaredTool{Name: "a", Description: "b", Schema: json.RawMessage(`{"type":"object"}`)}
	body := oracle.SendBody{
		Message: "hello", Stream: true, ReturnAllMessages: true, Model: "m", Tools: []oracle.DeclaredTool{tool},
		AgActions: []oracle.DeclaredAction{{DeclaredTool: tool, HasRender: true}},
		Attachments: []oracle.SendAttachment{{
			Filename: "a.txt", Mimetype: "text/plain", Size: 3, MxcURI: "mxc://a/b", EventID: "$x",
			CID: "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy", File: &oracle.EncryptedFile{URL: "mxc://a/b", Version: "v2"},
		}},
		MCPInvocations: map[string]string{"a": "b"}, Timezone: "Africa/Nairobi", HomeServer: "a.example",
		Metadata: map[string]any{"a": true}, RequestID: "r", TabID: "t", Multitask: oracle.Reject,
	}
	for _, v := range []any{body, body.Tools[0], body.AgActions[0], body.Attachments[0]} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
			if !f.Anonymous && reflect.ValueOf(v).FieldByIndex(f.Index).IsZero() {
				t.Errorf("%T.%s is documented, and not tried here", v, f.Name)
			}
		}
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	sent, problems := oracle.ParseSend(text)
	if len(problems) > 0 {
		t.Errorf("problems: %q", problems)
	}
	if q := sent.Request; !sent.Stream || !sent.ReturnAllMessages || sent.RequestID != "r" ||
		sent.Multitask != oracle.Reject ||
		q.Message != "hello" || q.Model != "m" || q.Tab != "t" || q.Timezone == "" || q.HomeServer == "" {
		t.Errorf("lost on the way: %+v", sent)
	}
	if q := sent.Request; len(q.BrowserTools) != 1 || len(q.Actions) != 1 || !q.Actions[0].HasRender ||
		len(q.Attachments) != 1 ||
		q.Attachments[0].File == nil || q.Attachments[0].CID == "" || q.Metadata["a"] != true || q.Invocations["a"] != "b" {
		t.Errorf("lost on the way: %+v", q)
	}
}

// What stands beside a message is bounded in bytes, and in values, which take far more.
func TestMetadataIsBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ metadata, want string }{
		{`{"a":"` + strings.Repeat("x", 200_000) + `"}`, ""},
		{`{"a":[` + strings.Repeat("1,", 9_000) + `1]}`, ""},
		{`{"a":"` + strings.Repeat(`\",{[`, 50_000) + `"}`, ""},
		{`{"a":"` + strings.Repeat("x", 300_000) + `"}`, "metadata must be shorter than or equal to 262144 bytes"},
		{`{"a":[` + strings.Repeat("{},", 9_000) + `1]}`, "metadata must contain no more than 10000 values"},
	} {
		_, wrong := oracle.ParseSend([]byte(`{"message":"hi","metadata":` + c.metadata + `}`))
		if got := strings.Join(wrong, "; "); got != c.want {
			t.Errorf("%.20s: %q, want %q", c.metadata, got, c.want)
		}
	}
}
