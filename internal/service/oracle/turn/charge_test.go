package turn_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/plugin"
)

// TestATurnEndsWhenTheDayIsSpent has a model ask for a tool for more than the
// user may spend: it is not asked again, the user is told, and so is the next
// message.
func TestATurnEndsWhenTheDayIsSpent(t *testing.T) {
	t.Parallel()
	dear := calls("lab_add", `{"a":1}`)
	dear.Usage.CostMicros = 150
	p := scripted.Sequence(dear, scripted.Text("It is 2."))
	n := oracletest.Start(t, p, with(lab{name: "lab", visibility: plugin.Always}), func(d *oraclekit.Deps) {
		d.Measures.User = oracle.Measure{CostMicros: 100}
	})
	alice := n.As(t, identitytest.Alice)
	session := alice.Session()
	frames := alice.Say(session, "1+1")
	if text := turn.TextOf(frames); !strings.Contains(text, "may cost 0.0001 US dollars a day here, and have") {
		t.Errorf("the answer is %q", text)
	}
	if got := alice.Do("POST", "/messages/"+session, map[string]any{"message": "and 2+2"}); got.Status != http.StatusTooManyRequests {
		t.Errorf("the next message: %d %s", got.Status, got.Body)
	}
	asked := 0
	for _, q := range p.Requests() {
		if q.Purpose == "turn" {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("the model was asked %d times", asked)
	}
}

// TestPluginsSpeakForMembers asks about people in whose name a plugin speaks,
// and not about those who come by the telephone.
func TestPluginsSpeakForMembers(t *testing.T) {
	t.Parallel()
	no := fault.New(fault.Forbidden, "not a member")
	n := oracletest.Start(t, scripted.Sequence(scripted.Text("Hello")), func(d *oraclekit.Deps) {
		d.Admit = func(_ context.Context, userDID string) error {
			if userDID == identitytest.Alice.DID {
				return nil
			}
			return no
		}
	})
	for _, user := range []string{identitytest.Alice.DID, identitytest.Bob.DID} {
		session, err := n.Turns.Open(t.Context(), user, "team")
		if err != nil {
			t.Fatal(err)
		}
		q := plugin.Question{UserDID: user, SessionID: session, RequestID: oracle.NewID(), Message: "hello"}
		if _, err := n.Turns.Ask(t.Context(), q); (err == nil) != (user == identitytest.Alice.DID) || err != nil && !errors.Is(err, no) {
			t.Errorf("%s: %v", user, err)
		}
		q.RequestID = oracle.NewID()
		if _, err := n.Turns.AskFor(t.Context(), q, "did:ussd:number:1"); err != nil {
			t.Errorf("%s by telephone: %v", user, err)
		}
	}
}
