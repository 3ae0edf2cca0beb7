package oraclehttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
)

// pages hears what open pages are told.
type pages struct {
	mu   sync.Mutex
	told []string
}

func (p *pages) Publish(_ context.Context, e oracle.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var m oracle.MessageCacheInvalidation
	if e.Name == oracle.EventMessageCacheInvalidation && json.Unmarshal(e.Payload, &m) == nil && m.Reason != "" {
		p.told = append(p.told, m.Reason)
	}
	return nil
}

func (p *pages) Dispatch(context.Context, oracle.Call) (oracle.Outcome, error) {
	return oracle.Outcome{}, oracle.ErrNoBrowser
}

// echo answers with the number of the answer, and asks to have it back.
func echo() *scripted.Provider {
	n := 0
	return scripted.New(func(req plugin.ModelRequest) scripted.Reply {
		if req.Purpose != "turn" {
			return scripted.Text(req.Purpose)
		}
		n++
		if strings.Contains(req.Messages[len(req.Messages)-1].Text, "fail") && n%2 == 1 {
			return scripted.Reply{Err: &model.Error{Kind: model.Network}}
		}
		r := scripted.Text(fmt.Sprintf("answer %d", n))
		r.State = &plugin.ModelState{Provider: "scripted", Model: "scripted", Data: json.RawMessage(fmt.Sprint(n))}
		return r
	})
}

// lastAsked is the conversation that a model was last sent, with its states.
func lastAsked(p *scripted.Provider) (out []string) {
	all := slices.DeleteFunc(p.Requests(), func(r plugin.ModelRequest) bool { return r.Purpose != "turn" })
	for _, m := range all[len(all)-1].Messages {
		text := m.Text
		if m.State != nil {
			text += " " + string(m.State.Data)
		}
		out = append(out, text)
	}
	return out
}

type transcript struct {
	Messages []struct {
		ID, Type, Content string
		Version           *struct {
			Number, Count int
			Kind          string
			MessageIDs    []string
		}
		Feedback *struct{ Rating, Text string }
		Error    *oracle.Failure
	}
}

func (l transcript) texts() (out []string) {
	for _, m := range l.Messages {
		out = append(out, m.Content)
	}
	return out
}

func TestVersions(t *testing.T) {
	t.Parallel()
	var heard pages
	provider := echo()
	n := oracletest.Start(t, provider, func(d *oraclekit.Deps) {
		d.Socket = func(oracle.SessionChecker) (oracle.Publisher, oracle.Dispatcher, error) { return &heard, &heard, nil }
	})
	alice := n.As(t, identitytest.Alice)
	session := alice.Session()
	read := func() (l transcript) {
		t.Helper()
		alice.Do("GET", "/messages/"+session, nil).JSON(t, &l)
		return l
	}
	expect := func(what string, got []string, want ...string) {
		t.Helper()
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
	at := func(message, what string) string { return "/sessions/" + session + "/messages/" + message + "/" + what }
	again := func(message string, body any) oracletest.Response {
		t.Helper()
		r := alice.Do("POST", at(message, "versions"), body)
		if r.Status != 200 {
			t.Fatalf("version: %d %s", r.Status, r.Body)
		}
		return r
	}
	for _, text := range []string{"one", "two", "three"} {
		alice.Say(session, text)
	}
	first := read()
	again("last", nil)
	expect("the last again", read().texts(), "one", "answer 1", "two", "answer 2", "three", "answer 4")
	expect("what the model was sent", lastAsked(provider), "one", "answer 1 1", "two", "answer 2 2", "three")
	if frames := oracletest.Frames(t,
		again(first.Messages[3].ID, map[string]any{"message": "TWO", "stream": true}).Body); oracletest.Text(t, frames) != "answer 5" {
		t.Errorf("streamed: %v", frames)
	}
	l := read()
	expect("an edit", l.texts(), "one", "answer 1", "TWO", "answer 5")
	expect("what the model was sent of an edit", lastAsked(provider), "one", "answer 1 1", "TWO")
	if v := l.Messages[2].Version; v == nil || v.Number != 2 || v.Count != 2 || v.Kind != "edited" ||
		v.MessageIDs[0] != first.Messages[2].ID || v.MessageIDs[1] != l.Messages[2].ID {
		t.Errorf("version: %+v", v)
	}
	if l.Messages[0].Version != nil || l.Messages[3].Version != nil {
		t.Error("what has one version names several")
	}
	alice.Say(session, "four")
	expect("what the model was sent behind it", lastAsked(provider), "one", "answer 1 1", "TWO", "answer 5 5", "four")
	if r := alice.Do("POST", at(first.Messages[2].ID, "choose"), nil); r.Status != 200 ||
		!strings.Contains(string(r.Body), `"kind":"original","chosen":true`) {
		t.Errorf("choose: %d %s", r.Status, r.Body)
	}
	expect("the first chosen again", read().texts(), "one", "answer 1", "two", "answer 2", "three", "answer 4")
	alice.Say(session, "five")
	expect("what the model was sent after a choice", lastAsked(provider), "one", "answer 1 1", "two", "answer 2 2", "three", "answer 4 4", "five")
	var list struct {
		Versions []struct {
			MessageID, Kind, Content string
			Chosen                   bool
		}
	}
	alice.Do("GET", at(first.Messages[4].ID, "versions"), nil).JSON(t, &list)
	if len(list.Versions) != 2 || list.Versions[0].Chosen || !list.Versions[1].Chosen || list.Versions[1].Kind != "regenerated" {
		t.Errorf("versions: %+v", list)
	}
	heard.mu.Lock()
	expect("pages", heard.told, "version", "version", "version")
	heard.mu.Unlock()
}

// A failed turn is asked again in its own place, and once for one request.
func TestAFailedTurnIsAskedAgain(t *testing.T) {
	t.Parallel()
	n := oracletest.Start(t, echo())
	alice := n.As(t, identitytest.Alice)
	session := alice.Session()
	path := "/sessions/" + session + "/messages/last/versions"
	alice.Say(session, "fail at first")
	alice.Header.Set("X-Request-Id", "once-again")
	var runs []string
	for range 2 {
		r := alice.Do("POST", path, nil)
		if r.Status != 200 || !strings.Contains(string(r.Body), "answer 2") {
			t.Fatalf("again: %d %s", r.Status, r.Body)
		}
		runs = append(runs, r.Header.Get("X-Run-Id"))
	}
	if runs[0] != runs[1] {
		t.Errorf("one request began two runs: %v", runs)
	}
	if r := alice.Do("POST", path, map[string]any{"message": "another"}); r.Status != 409 {
		t.Errorf("another under the same id: %d %s", r.Status, r.Body)
	}
	alice.Header.Set("X-Request-Id", "once-edit")
	for range 2 {
		if r := alice.Do("POST", path, map[string]any{"message": "another"}); r.Status != 200 ||
			!strings.Contains(string(r.Body), "answer 3") {
			t.Errorf("an edit of the last, twice: %d %s", r.Status, r.Body)
		}
	}
	var l transcript
	alice.Do("GET", "/messages/"+session, nil).JSON(t, &l)
	if len(l.Messages) != 2 || l.Messages[0].Version.Count != 3 {
		t.Errorf("transcript: %+v", l)
	}
}

func TestFeedback(t *testing.T) {
	t.Parallel()
	n := oracletest.Start(t, echo())
	alice, bob := n.As(t, identitytest.Alice), n.As(t, identitytest.Bob)
	session := alice.Session()
	alice.Say(session, "one")
	read := func() (l transcript) {
		alice.Do("GET", "/sessions/"+session+"/messages", nil).JSON(t, &l)
		return l
	}
	l := read()
	question, answer := "/sessions/"+session+"/messages/"+l.Messages[0].ID+"/feedback", "/sessions/"+session+"/messages/"+l.Messages[1].ID+"/feedback"
	for _, c := range []struct {
		who    *oracletest.Client
		path   string
		body   any
		status int
	}{
		{alice, answer, map[string]any{"rating": "down", "text": " not so "}, 200},
		{alice, question, map[string]any{"rating": "up"}, 400},
		{alice, answer, map[string]any{"rating": "splendid"}, 400},
		{alice, answer, map[string]any{"rating": "up", "stars": 5}, 400},
		{alice, answer, map[string]any{"rating": "up", "text": strings.Repeat("x", 4097)}, 400},
		{bob, answer, map[string]any{"rating": "up"}, 404},
	} {
		if r := c.who.Do("PUT", c.path, c.body); r.Status != c.status {
			t.Errorf("%v: %d %s", c.body, r.Status, r.Body)
		}
	}
	if f := read().Messages[1].Feedback; f == nil || f.Rating != "down" || f.Text != "not so" {
		t.Errorf("feedback: %+v", f)
	}
	if r := alice.Do("DELETE", answer, nil); r.Status != 204 {
		t.Errorf("taken back: %d %s", r.Status, r.Body)
	}
	if f := read().Messages[1].Feedback; f != nil {
		t.Errorf("still there: %+v", f)
	}
}
