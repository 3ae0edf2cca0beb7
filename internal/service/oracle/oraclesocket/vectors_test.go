package oraclesocket_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

type eventVector struct {
	Event   string          `json:"event"`
	Payload json.RawMessage `json:"payload"`
	Frame   string          `json:"frame"`
}

// TestEventVectors lets a gateway say and hear every frame of the vectors.
func TestEventVectors(t *testing.T) {
	t.Parallel()
	var file struct{ Server, Client []eventVector }
	for _, name := range []string{"events", "calls", "approvals", "citations"} {
		raw, err := os.ReadFile("../../../../spec/vectors/socket/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var part struct{ Server, Client []eventVector }
		if err := json.Unmarshal(raw, &part); err != nil {
			t.Fatal(err)
		}
		file.Server, file.Client = append(file.Server, part.Server...), append(file.Client, part.Client...)
	}
	n := fleet(t, 1)[0]
	page := n.connect(t)
	var said, heard []string
	for _, v := range file.Server {
		said = append(said, v.Event)
		frame := strings.ReplaceAll(v.Frame, "$s:1", alices)
		payload := json.RawMessage(strings.ReplaceAll(string(v.Payload), "$s:1", alices))
		name := oracle.EventName(v.Event)
		if name == oracle.EventBrowserToolCall || name == oracle.EventActionCall {
			var c struct {
				ToolCallID, ToolName, RequestID string
				Args                            json.RawMessage
			}
			if err := json.Unmarshal(payload, &c); err != nil {
				t.Fatal(err)
			}
			kind := oracle.BrowserTool
			if name == oracle.EventActionCall {
				kind = oracle.Action
			}
			got := dispatch(t.Context(), n, oracle.Call{
				ID: c.ToolCallID, Kind: kind, SessionID: alices, RequestID: c.RequestID, Owner: identitytest.Alice.DID,
				Name: c.ToolName, Args: c.Args, Deadline: time.Now().Add(time.Minute),
			})
			expectFrame(t, page.Packet(), frame)
			for _, answer := range file.Client {
				if strings.Contains(answer.Frame, `"`+c.ToolCallID+`"`) {
					heard = append(heard, answer.Event)
					page.Send(strings.ReplaceAll(answer.Frame, "$s:1", alices))
					break
				}
			}
			if d := await(t, got); d.err != nil || d.outcome.Unknown {
				t.Errorf("%s: %+v %v", v.Event, d.outcome, d.err)
			}
			continue
		}
		to := oracle.Address{SessionID: alices, RequestID: "r-1"}
		if err := n.Publish(t.Context(), oracle.Event{Name: name, Address: to, Payload: payload}); err != nil {
			t.Fatal(err)
		}
		expectFrame(t, page.Packet(), frame)
	}
	for _, v := range file.Client {
		if v.Payload == nil || strings.HasPrefix(v.Event, "call_") || strings.HasPrefix(v.Event, "approval_") {
			heard = append(heard, v.Event)
			page.Send(strings.Replace(v.Frame, "42[", "427[", 1)) // every answer comes with an acknowledgement at the latest
			for !strings.HasPrefix(page.Packet(), "437[") {
				continue
			}
		}
	}
	for _, name := range oracle.ClientEvents() {
		if !slices.Contains(heard, string(name)) {
			t.Errorf("no vector for the client's %s", name)
		}
	}
	for _, name := range oracle.ServerEvents() {
		answer := name == oracle.EventStatus || name == oracle.EventSubscribed || name == oracle.EventAvailableEvents
		if !answer && !slices.Contains(said, string(name)) {
			t.Errorf("no vector for the server's %s", name)
		}
	}
}

// expectFrame compares events without regard to the order of members.
func expectFrame(t *testing.T, got, want string) {
	t.Helper()
	var a, b []any
	if json.Unmarshal([]byte(strings.TrimPrefix(got, "42")), &a) != nil ||
		json.Unmarshal([]byte(strings.TrimPrefix(want, "42")), &b) != nil {
		t.Fatalf("received %s, want %s", got, want)
	}
	if diff := cmp.Diff(b, a); diff != "" {
		t.Errorf("frame (-want +got):\n%s", diff)
	}
}
