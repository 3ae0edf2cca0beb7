package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
)

// ear hears events.
type ear chan oracle.Event

func (e ear) Publish(_ context.Context, event oracle.Event) error {
	e <- event
	return nil
}

// A session is named after its first turn, and pages are told: that the turn has
// begun, once that it is stored, and once of the title.
func TestPagesHearOfTurnAndTitle(t *testing.T) {
	t.Parallel()
	heard := make(ear, 16)
	model := scripted.New(func(req plugin.ModelRequest) scripted.Reply {
		if req.Purpose == "title" {
			return scripted.Text("\"Bees in Nakuru.\"\nand more")
		}
		return scripted.Text("ok")
	})
	n := oracletest.Start(t, model, func(d *oraclekit.Deps) {
		d.Socket = func(oracle.SessionChecker) (oracle.Publisher, oracle.Dispatcher, error) { return heard, &room{}, nil }
	})
	alice := n.As(t, identitytest.Alice)
	session := alice.Session()
	frames := alice.Say(session, "bees")
	select {
	case e := <-heard:
		var got oracle.RunStarted
		var first oracle.RunFrame
		if err := errors.Join(json.Unmarshal(e.Payload, &got), json.Unmarshal(frames[0].Data, &first)); err != nil ||
			e.Name != oracle.EventRunStarted || got.RunID != first.RunID || got.RequestID != first.RequestID {
			t.Errorf("%s %s, the run is %+v (%v)", e.Name, e.Payload, first, err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("pages do not hear of the run")
	}
	for _, want := range []oracle.MessageCacheInvalidation{{Ended: true}, {Title: "Bees in Nakuru"}} {
		select {
		case e := <-heard:
			var got oracle.MessageCacheInvalidation
			if err := json.Unmarshal(e.Payload, &got); err != nil || e.Name != oracle.EventMessageCacheInvalidation ||
				e.SessionID != session || got.Ended != want.Ended || got.Title != want.Title || e.Bare != (want.Title != "") {
				t.Errorf("%s %s, want %+v (%v)", e.Name, e.Payload, want, err)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("pages do not hear of %+v", want)
		}
	}
	if r := alice.Do("GET", "/sessions", nil); !strings.Contains(string(r.Body), `"title":"Bees in Nakuru"`) {
		t.Errorf("sessions: %s", r.Body)
	}
}
