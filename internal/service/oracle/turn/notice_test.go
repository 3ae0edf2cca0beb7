package turn_test

import (
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/plugin"
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

// Users are told once, live and in the transcript, that older turns are left out:
// when they are summarised, and when the model refuses a conversation as too long.
func TestUsersAreToldOnceThatOlderTurnsAreLeftOut(t *testing.T) {
	t.Parallel()
	const said = "its older part was left out"
	long := strings.Repeat("bees and honey ", 9000) // about a third of the window
	for name, script := range map[string]func(req plugin.ModelRequest) scripted.Reply{
		"summarised": func(plugin.ModelRequest) scripted.Reply { return scripted.Text("ok") },
		"not summarised": func(req plugin.ModelRequest) scripted.Reply {
			if req.Purpose == "summary" {
				return scripted.Reply{Err: &model.Error{Kind: model.Server}}
			}
			return scripted.Text("ok")
		},
		"refused": func(req plugin.ModelRequest) scripted.Reply {
			if len(req.Messages) > 2 {
				return scripted.Reply{Err: &model.Error{Kind: model.TooLong}}
			}
			return scripted.Text("ok")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := oracletest.Start(t, scripted.New(script))
			alice := n.As(t, identitytest.Alice)
			session := alice.Session()
			live := ""
			for range 5 {
				text := long
				if name == "refused" {
					text = "and?"
				}
				live += turn.TextOf(alice.Say(session, text))
			}
			var list struct {
				Messages []struct{ Type, Content string }
			}
			alice.Do("GET", "/messages/"+session, nil).JSON(t, &list)
			kept := ""
			for _, m := range list.Messages {
				if m.Type == "ai" {
					kept += m.Content
				}
			}
			if strings.Count(live, said) != 1 || kept != live {
				t.Errorf("readers saw %q; the transcript has %q", live, kept)
			}
		})
	}
}
