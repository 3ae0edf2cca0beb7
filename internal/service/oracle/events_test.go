package oracle_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/plugin"
)

var update = flag.Bool("update", false, "write spec/events anew")

// The payloads of the gateway's own answers.
type (
	connected struct {
		Message   string `json:"message"`
		SessionID string `json:"sessionId"`
		Timestamp string `json:"timestamp"`
	}
	stamped struct {
		SessionID string `json:"sessionId"`
		Timestamp string `json:"timestamp"`
	}
	status struct {
		Connected        bool   `json:"connected"`
		SessionID        string `json:"sessionId"`
		ActiveSessions   int    `json:"activeSessions"`
		TotalConnections int    `json:"totalConnections"`
		Timestamp        string `json:"timestamp"`
	}
	catalogue struct {
		ClientEvents []string `json:"clientEvents"`
		ServerEvents []string `json:"serverEvents"`
		SessionID    string   `json:"sessionId"`
		Timestamp    string   `json:"timestamp"`
	}
)

var frames = map[string]any{
	oracle.FrameRun: oracle.RunFrame{}, oracle.FrameReasoning: oracle.ReasoningFrame{},
	oracle.FrameMessage:  oracle.MessageFrame{},
	oracle.FrameToolCall: oracle.ToolCallPayload{}, oracle.FrameActionCall: oracle.ActionCallPayload{},
	oracle.FrameError: oracle.ErrorFrame{},
	oracle.FrameDone:  oracle.DoneFrame{}, oracle.FrameRouterUpdate: oracle.RouterUpdate{},
	oracle.FrameRenderComponent:    oracle.RenderComponentPayload{},
	oracle.FrameDelegationRequired: oracle.DelegationRequired{}, oracle.FrameApprovalRequired: oracle.ApprovalRequired{},
	oracle.FrameApprovalAnswered: oracle.ApprovalAnswered{}, oracle.FrameCitations: oracle.CitationsPayload{},
}

var events = map[oracle.EventName]any{
	oracle.EventConnected: connected{}, oracle.EventPong: stamped{}, oracle.EventStatus: status{},
	oracle.EventSubscribed:      stamped{},
	oracle.EventAvailableEvents: catalogue{}, oracle.EventToolCall: oracle.ToolCallPayload{},
	oracle.EventActionCall:               oracle.ActionCallPayload{},
	oracle.EventRenderComponent:          oracle.RenderComponentPayload{},
	oracle.EventBrowserToolCall:          oracle.BrowserToolCallPayload{},
	oracle.EventRouterUpdate:             oracle.RouterUpdate{},
	oracle.EventMessageCacheInvalidation: oracle.MessageCacheInvalidation{},
	oracle.EventCallICE:                  oracle.CallICEPayload{}, oracle.EventCallEnd: oracle.CallEndPayload{},
	oracle.EventCallMoved: oracle.CallEndPayload{},
	oracle.EventCallState: oracle.CallStatePayload{}, oracle.EventApprovalRequired: oracle.ApprovalRequired{},
	oracle.EventRunStarted:       oracle.RunStarted{},
	oracle.EventApprovalAnswered: oracle.ApprovalAnswered{}, oracle.EventCitations: oracle.CitationsPayload{},
}

// schema describes a payload. Clients must accept fields that they do not know.
func schema(t *testing.T, title string, payload any) []byte {
	t.Helper()
	words := func(list ...any) *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Enum: list} }
	s, err := jsonschema.ForType(reflect.TypeOf(payload),
		&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
			reflect.TypeFor[json.RawMessage]():  {Type: "object"},
			reflect.TypeFor[plugin.Status]():    words("isRunning", "done", "error"),
			reflect.TypeFor[oracle.RunStatus](): words("finished", "aborted", "interrupted", "failed"),
			reflect.TypeFor[oracle.Decision]():  words("approve", "deny", "expired", "withdrawn"),
		}})
	if err != nil {
		t.Fatal(err)
	}
	s.Schema, s.Title, s.AdditionalProperties = "https://json-schema.org/draft/2020-12/schema", title, nil
	for _, p := range s.Properties { // an absent field is never null
		if i := slices.Index(p.Types, "null"); i >= 0 {
			p.Type, p.Types = slices.Delete(slices.Clone(p.Types), i, i+1)[0], nil
		}
	}
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(data, '\n')
}

// TestSpecEvents keeps spec/events equal to what the server sends.
func TestSpecEvents(t *testing.T) {
	t.Parallel()
	want := map[string][]byte{}
	for _, name := range oracle.FrameNames() {
		want[filepath.Join("frames", name+".json")] = schema(t, name, frames[name])
	}
	for _, name := range oracle.ServerEvents() {
		want[filepath.Join("socket", string(name)+".json")] = schema(t, string(name), events[name])
	}
	root := filepath.Join("..", "..", "..", "spec", "events")
	for name, data := range want {
		file := filepath.Join(root, name)
		if *update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s is not what the server sends (run with -update): %v\n%s", file, err, cmp.Diff(string(got), string(data)))
		}
	}
}

func TestHybrid(t *testing.T) {
	t.Parallel()
	to := oracle.Address{SessionID: "$s", RequestID: "r"}
	e, err := oracle.NewEvent(oracle.EventRouterUpdate, to, oracle.RouterUpdate{Address: to, Step: "search"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.Hybrid()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"sessionId":"$s","requestId":"r","step":"search","eventName":"router_update","payload":{"sessionId":"$s","requestId":"r","step":"search"}}`
	if string(got) != want {
		t.Errorf("%s", got)
	}
	e.Quiet = true
	quiet := `{"sessionId":"$s","requestId":"r","step":"search","eventName":"router_update","payload":{"requestId":"r","sessionId":"","step":"search"}}`
	if got, err := e.Wire(); err != nil || string(got) != quiet {
		t.Errorf("%s, %v", got, err)
	}
	for _, bad := range []string{"", "[]", "null", "{"} {
		if _, err := (oracle.Event{Name: "x", Payload: json.RawMessage(bad)}).Hybrid(); err == nil {
			t.Errorf("%q became an event", bad)
		}
	}
}

func FuzzParseSend(f *testing.F) {
	for _, s := range []string{
		`{"message":"hi"}`, `{"message":1}`, `[]`, `null`, `{"message":"x","tools":[{"name":"a","description":"b","schema":{}}]}`,
		`{"message":"x","attachments":[{"filename":"a","mimetype":"b","mxcUri":"mxc://a/b","file":{}}]}`, `{"message":"x","metadata":[]}`,
		`{"message":"x","mcpInvocations":{"a":1}}`, `{"message":"\u0000"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		s, wrong := oracle.ParseSend(body)
		if len(wrong) > 0 {
			return
		}
		if s.Request.Message == "" || len(s.Request.Attachments) > oracle.MaxAttachments {
			t.Errorf("%q was accepted", body)
		}
		if _, err := json.Marshal(s.Request); err != nil {
			t.Errorf("%q cannot be kept: %v", body, err)
		}
	})
}
