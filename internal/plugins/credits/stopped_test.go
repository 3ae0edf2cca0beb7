package credits_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/plugins/credits"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/internal/service/oracle/registry"
	"github.com/castalia-org/castalia/plugin"
)

// accounted starts a node on which turns cost something, and gives Alice 500.
func accounted(t *testing.T, model *scripted.Provider, more ...plugin.Plugin) *oracletest.Client {
	t.Helper()
	n := oracletest.Start(t, model, func(d *oraclekit.Deps) {
		d.Plugins = append([]plugin.Plugin{credits.New(config)}, more...)
		d.Features = map[string]registry.Feature{"credits": registry.On}
	})
	grant(t, n, identitytest.Alice.DID, 500, "k")
	return n.As(t, identitytest.Alice)
}

func send(t *testing.T, alice *oracletest.Client, session, multitask string) {
	t.Helper()
	resp, err := alice.Open(t.Context(), "POST", "/messages/"+session, map[string]any{"message": "go", "stream": true, "multitask": multitask})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
}

// A turn that waited behind another and was stopped before it began gives back
// what it set aside, whoever stopped it.
func TestWhatWaitedHoldsNothing(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(t *testing.T, alice *oracletest.Client, session string){
		"abort": func(_ *testing.T, alice *oracletest.Client, session string) {
			alice.Do("POST", "/messages/abort", map[string]any{"sessionId": session})
		},
		"another message": func(t *testing.T, alice *oracletest.Client, session string) {
			send(t, alice, session, "interrupt")
			alice.Do("POST", "/messages/abort", map[string]any{"sessionId": session})
		},
		"the session's end": func(_ *testing.T, alice *oracletest.Client, session string) {
			alice.Do("DELETE", "/sessions/"+session, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			alice := accounted(t, scripted.Sequence(scripted.Reply{Wait: make(chan struct{})}))
			session := alice.Session()
			send(t, alice, session, "")
			send(t, alice, session, "enqueue")
			if a := standing(t, alice); a.Held != 100 {
				t.Fatalf("while one runs and one waits: %+v", a)
			}
			stop(t, alice, session)
			settled(t, alice, credits.Account{Granted: 500, Available: 500})
		})
	}
}

// bell is a plugin with a tool.
type bell struct{}

func (bell) Describe() plugin.Description {
	return plugin.Description{
		Name:     "bell",
		Manifest: plugin.Manifest{Title: "B", Summary: "B", WhenToUse: []string{"ringing"}, Visibility: plugin.Always},
	}
}

func (bell) Tools() []plugin.Tool {
	return []plugin.Tool{{
		Name: "ring", Description: "Ring.",
		Run: func(context.Context, *plugin.Runtime, json.RawMessage) (plugin.Result, error) {
			return plugin.Text("rang"), nil
		},
	}}
}

// Whoever deletes a session in the middle of its turn pays for what the turn used.
func TestADeletedSessionIsPaidFor(t *testing.T) {
	t.Parallel()
	first := scripted.Calls(plugin.ModelToolCall{ID: "c", Name: "ring", Args: json.RawMessage(`{}`)})
	first.Usage = plugin.Usage{InputTokens: 100, OutputTokens: 20, CostMicros: 10_000}
	asked, steps := make(chan struct{}), 0
	alice := accounted(t, scripted.New(func(plugin.ModelRequest) scripted.Reply {
		if steps++; steps == 1 {
			return first
		}
		close(asked)
		return scripted.Reply{Wait: make(chan struct{})}
	}), bell{})
	session := alice.Session()
	send(t, alice, session, "")
	<-asked
	alice.Do("DELETE", "/sessions/"+session, nil)
	settled(t, alice, credits.Account{Granted: 500, Available: 484, Spent: 16})
}
