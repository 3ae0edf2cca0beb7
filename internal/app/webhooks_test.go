package app

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/webhook"
	"github.com/castalia-org/castalia/internal/service/webhook/webhooktest"
)

// What happens to Alice's things is told to her program, and to nobody else's,
// by ids alone.
func TestEventsReachTheirOwner(t *testing.T) {
	t.Parallel()
	w := open(t)
	to := webhooktest.NewReceiver(t)
	w.alices(t, request{method: http.MethodPost, target: "/api/webhooks", body: `{"url":"` + to.URL + `","events":["*"]}`}, nil)
	session, _ := w.talk(t)
	w.alices(t, request{method: http.MethodDelete, target: "/sessions/" + session}, nil)
	f := w.file(t)
	w.alices(t, request{method: http.MethodPut, target: "/api/fs/files/" + f.ID, body: marker + " again", header: []string{"Content-Type", "text/plain"}}, nil)
	things["{share}"](t, w) // of another file
	w.alices(t, request{method: http.MethodDelete, target: "/api/fs/files/" + f.ID}, nil)
	want := []string{
		"file.changed", "file.deleted", "file.shared", "file.stored", "file.stored", "run.finished", "session.created", "session.ended",
	}
	var got []string
	late := time.After(30 * time.Second)
	for len(got) < len(want) {
		var d webhooktest.Delivery
		select {
		case d = <-to.Got:
		case <-late:
			t.Fatalf("only %v arrived", got)
		}
		var body struct {
			Type string
			Data map[string]any
		}
		if err := json.Unmarshal(d.Body, &body); err != nil || !webhook.Known(body.Type) {
			t.Fatalf("%s %v", d.Body, err)
		}
		if body.Type == "session.titled" { // or not: it was deleted so soon
			continue
		}
		got = append(got, body.Type)
		for name, value := range body.Data {
			if text, ok := value.(string); ok && (strings.Contains(text, marker) || strings.Contains(text, "/") && name != "mimeType") {
				t.Errorf("%s tells %s: %s", body.Type, name, text)
			}
		}
		if strings.HasPrefix(body.Type, "session.") && body.Data["sessionId"] != session {
			t.Errorf("%s", d.Body)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// testGrant holds a route against a bare delegation and, where everything has to
// be signed for, against an invocation for some content.
func (w *world) testGrant(t *testing.T, row row, r request) {
	t.Helper()
	least := row.other
	if row.grant != 0 {
		least = row.grant
	}
	w.foreign(t, row, "Bob by delegation", r.with("X-Ucan-Delegation", identitytest.UserToOracle(t, bob, w.DID())), least)
	if row.signed {
		token := w.narrow(t)["the oracle for a CID"]
		w.foreign(t, row, "Alice for a CID", r.with(headers(identity.Oracle, token)...), http.StatusForbidden)
	}
}
