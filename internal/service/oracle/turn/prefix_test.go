package turn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/plugin"
)

// noter tells the model something else in each turn, and its tool says much.
type noter struct{ lab }

func (n noter) Tools() []plugin.Tool {
	tools := n.lab.Tools()
	tools[0].Run = func(context.Context, *plugin.Runtime, json.RawMessage) (plugin.Result, error) {
		return plugin.Text(strings.Repeat("0123456789", 2000)), nil
	}
	return tools
}

func (noter) Note(_ context.Context, rt *plugin.Runtime) (string, error) {
	return "Asked: " + rt.Session.Message, nil
}

// stated is a reply with something that the provider wants back.
func stated(n int, r scripted.Reply) scripted.Reply {
	r.State = &plugin.ModelState{Provider: "scripted", Model: "scripted", Data: json.RawMessage(fmt.Sprintf(`{"signature":"%d<&>"}`, n))}
	return r
}

// Providers read what they have read before for less, and some refuse what they
// said themselves behind another beginning. So each request of a conversation
// begins with the whole of the one before it, whichever node asks.
func TestRequestsGrowAtTheirEnd(t *testing.T) {
	t.Parallel()
	replies := []scripted.Reply{
		stated(1, calls(turn.LoadCapability, `{ "name": "lab" }`)), stated(2, calls("lab_add", `{}`)), stated(3, scripted.Text("one")),
		stated(4, calls("more_add", `{"x":"<b>"}`)), stated(5, scripted.Text("two")),
		stated(6, calls(turn.LoadCapability, `{"name":"again"}`)), stated(7, scripted.Text("three")), stated(8, scripted.Text("four")),
	}
	p := scripted.Sequence(replies...)
	db := oracletest.Migrated(t, sqldbtest.SQLite(t))
	node := func() *oracletest.Node {
		return oracletest.Start(t, p, with(noter{lab{name: "more", visibility: plugin.Always}}, lab{name: "again"}, lab{name: "lab"}),
			func(d *oraclekit.Deps) { d.DB = db })
	}
	one, two := node(), node()
	alice := one.As(t, identitytest.Alice)
	session := alice.Session()
	for i, ask := range []string{"first", "second", "third", "fourth"} {
		asker := alice
		if i == 1 || i == 3 {
			asker = alice.On(two)
		}
		asker.Say(session, ask)
	}
	var asked []plugin.ModelRequest
	for _, r := range p.Requests() {
		if r.Purpose == "turn" {
			asked = append(asked, r)
		}
	}
	if len(asked) != len(replies) {
		t.Fatalf("%d requests", len(asked))
	}
	for i := 1; i < len(asked); i++ {
		before, now := asked[i-1], asked[i]
		if d := cmp.Diff(before.System, now.System); d != "" {
			t.Errorf("request %d: system prompt:\n%s", i, d)
		}
		if d := cmp.Diff(before.Tools, now.Tools[:min(len(before.Tools), len(now.Tools))]); d != "" {
			t.Errorf("request %d: tools:\n%s", i, d)
		}
		if d := cmp.Diff(before.Messages, now.Messages[:min(len(before.Messages), len(now.Messages))]); d != "" {
			t.Errorf("request %d: messages:\n%s", i, d)
		}
		if now.Session != session {
			t.Errorf("request %d is of session %q", i, now.Session)
		}
	}
	for i, m := range asked[len(asked)-1].Messages {
		switch m.Role {
		case plugin.RoleUser:
			if !strings.HasPrefix(m.Note, "It is ") || !strings.HasSuffix(m.Note, "Asked: "+m.Text) {
				t.Errorf("message %d: note %q", i, m.Note)
			}
		case plugin.RoleAssistant:
			if m.State == nil || m.State.Provider != "scripted" {
				t.Errorf("message %d has lost its state", i)
			}
		}
	}
}
