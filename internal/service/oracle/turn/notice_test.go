package turn_test

import (
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
)

// told asks and returns what readers saw, which the transcript must have too.
func told(t *testing.T, reply scripted.Reply) string {
	t.Helper()
	n := oracletest.Start(t, scripted.Sequence(reply))
	alice := n.As(t, identitytest.Alice)
	session := alice.Session()
	seen := turn.TextOf(alice.Say(session, "tell"))
	var list struct{ Messages []struct{ Content string } }
	alice.Do("GET", "/messages/"+session, nil).JSON(t, &list)
	kept := ""
	for _, m := range list.Messages[1:] {
		kept += m.Content
	}
	if kept != seen {
		t.Errorf("readers saw %q; the transcript has %q", seen, kept)
	}
	return seen
}

// An answer that did not end by itself says so, live and in the transcript.
func TestUsersAreToldWhyAnAnswerEnded(t *testing.T) {
	t.Parallel()
	for finish, want := range map[string]string{
		"stop": "", "length": "cut off", "filter": "filter", "refusal": "declined", "window": "fills the model",
	} {
		reply := scripted.Text("Once upon")
		reply.Finish = finish
		text := told(t, reply)
		if !strings.HasPrefix(text, "Once upon") || (want == "") != (text == "Once upon") || !strings.Contains(text, want) {
			t.Errorf("%s: %q", finish, text)
		}
	}
	if text := told(t, scripted.Reply{}); !strings.Contains(text, "gave no answer") {
		t.Errorf("an empty answer: %q", text)
	}
}
