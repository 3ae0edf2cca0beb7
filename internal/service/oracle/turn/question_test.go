package turn_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
)

// inn books rooms, and asks which.
type inn struct {
	desk
	asked, booked atomic.Int64
	endless       bool
	free          bool // it asks nobody whether it may book
	keeps         int  // bytes that it wants kept until it is answered
}

func (i *inn) Tools() []plugin.Tool {
	form := json.RawMessage(`{"type":"object","properties":{"room":{"type":"string","enum":["sea","hill"]}},"required":["room"]}`)
	return []plugin.Tool{{
		Name: "book", Description: "Book a room.", Confirm: !i.free,
		Run: func(_ context.Context, rt *plugin.Runtime, _ json.RawMessage) (plugin.Result, error) {
			if rt.Answered == nil || i.endless {
				i.asked.Add(1)
				return plugin.Result{}, &plugin.AskError{Ask: plugin.Ask{
					From: "inn", Message: "Which room?", Form: form, State: json.RawMessage(`{"bed":7` + strings.Repeat(" ", i.keeps) + `}`),
				}}
			}
			i.booked.Add(1)
			return plugin.Text("booked " + string(rt.Answered.Content) + string(rt.Answered.Ask.State)), nil
		},
	}}
}

// answerNext answers what waits now.
func answerNext(t *testing.T, alice *oracletest.Client, body string, status int) {
	t.Helper()
	var list struct {
		Approvals []struct{ ID string }
	}
	alice.Do("GET", "/approvals", nil).JSON(t, &list)
	if len(list.Approvals) != 1 {
		t.Fatalf("waits: %+v", list)
	}
	if got := alice.Do("POST", "/approvals/"+list.Approvals[0].ID, body); got.Status != status {
		t.Fatalf("%s: %d %s", body, got.Status, got.Body)
	}
}

// A tool asks for what only the person knows: the turn rests, and the call is made again
// with the answer.
func TestAToolAsksItsUser(t *testing.T) {
	t.Parallel()
	i := &inn{}
	p := scripted.Sequence(calls("book", `{}`), scripted.Text("Enjoy."))
	n := oracletest.Start(t, p, with(i))
	alice := n.As(t, identitytest.Alice)
	first := alice.Ask(alice.Session(), "book a room")
	answerNext(t, alice, `{"decision":"approve","content":{"room":"sea"}}`, http.StatusBadRequest) // it only asks whether
	answerNext(t, alice, `{"decision":"approve"}`, http.StatusOK)
	asks := first.Next()
	if len(asks.Approvals) != 1 || asks.Approvals[0].Reason != "input" || asks.Approvals[0].Question == nil ||
		asks.Approvals[0].Question.From != "inn" || asks.Approvals[0].Question.Message != "Which room?" ||
		!strings.Contains(string(asks.Approvals[0].Schema), `"content":{"type":"object"`) {
		t.Fatalf("asks: %+v", asks)
	}
	answerNext(t, alice, `{"decision":"approve"}`, http.StatusBadRequest)
	answerNext(t, alice, `{"decision":"approve","content":{"room":"cellar"}}`, http.StatusBadRequest)
	answerNext(t, alice, `{"decision":"approve","content":{"room":"hill"}}`, http.StatusOK)
	if text := oracletest.Text(t, asks.Rest()); text != "Enjoy." {
		t.Errorf("answer: %q", text)
	}
	last := lastTurn(p)
	if told := last.Messages[len(last.Messages)-1].Text; told != `booked {"room":"hill"}{"bed":7}` || i.asked.Load() != 1 || i.booked.Load() != 1 {
		t.Errorf("the model was told %q; asked %d, booked %d times", told, i.asked.Load(), i.booked.Load())
	}
}

func TestWhoDoesNotTellEndsTheCall(t *testing.T) {
	t.Parallel()
	i := &inn{}
	p := scripted.Sequence(calls("book", `{}`), scripted.Text("As you like."))
	n := oracletest.Start(t, p, with(i))
	alice := n.As(t, identitytest.Alice)
	first := alice.Ask(alice.Session(), "book a room")
	answerNext(t, alice, `{"decision":"approve"}`, http.StatusOK)
	asks := first.Next()
	answerNext(t, alice, `{"decision":"deny"}`, http.StatusOK)
	if text := oracletest.Text(t, asks.Rest()); text != "As you like." || i.booked.Load() != 0 {
		t.Errorf("answer: %q, booked %d times", text, i.booked.Load())
	}
	last := lastTurn(p)
	if told := last.Messages[len(last.Messages)-1].Text; !strings.Contains(told, "did not tell") {
		t.Errorf("the model was told %q", told)
	}
}

func TestAToolAsksOnlySoOften(t *testing.T) {
	t.Parallel()
	i := &inn{endless: true}
	p := scripted.Sequence(calls("book", `{}`), scripted.Text("Enough."))
	n := oracletest.Start(t, p, with(i))
	alice := n.As(t, identitytest.Alice)
	w := alice.Ask(alice.Session(), "book a room")
	answerNext(t, alice, `{"decision":"approve"}`, http.StatusOK)
	for range 5 {
		w = w.Next()
		answerNext(t, alice, `{"decision":"approve","content":{"room":"sea"}}`, http.StatusOK)
	}
	if text := oracletest.Text(t, w.Rest()); text != "Enough." || i.asked.Load() != 6 {
		t.Errorf("answer: %q, asked %d times", text, i.asked.Load())
	}
}

// What a stranger's server wants kept is stored with the run, however long its user thinks.
func TestAToolKeepsLittleWithItsQuestion(t *testing.T) {
	t.Parallel()
	i := &inn{free: true, keeps: 64 << 10}
	p := scripted.Sequence(calls("book", `{}`), scripted.Text("Too much."))
	alice := oracletest.Start(t, p, with(i)).As(t, identitytest.Alice)
	if text := oracletest.Text(t, alice.Say(alice.Session(), "book a room")); text != "Too much." || i.asked.Load() != 1 {
		t.Errorf("answer: %q, asked %d times", text, i.asked.Load())
	}
}

// Somebody who was asked and did not say is not told that nothing was begun.
func TestAQuestionExpires(t *testing.T) {
	t.Parallel()
	i := &inn{free: true}
	p := scripted.Sequence(calls("book", `{}`), scripted.Text("Ask again."))
	n := oracletest.Start(t, p, with(i), func(d *oraclekit.Deps) { d.Run.ApprovalTime = time.Millisecond })
	alice := n.As(t, identitytest.Alice)
	if text := oracletest.Text(t, alice.Say(alice.Session(), "book a room")); text != "Ask again." {
		t.Errorf("answer: %q", text)
	}
	last := lastTurn(p)
	if told := last.Messages[len(last.Messages)-1].Text; !strings.Contains(told, "in time") || strings.Contains(told, "was not run") {
		t.Errorf("the model was told %q", told)
	}
}

// A program that cannot show a form is not asked to.
func TestAQuestionIsPutWhereItCanBeAnswered(t *testing.T) {
	t.Parallel()
	i := &inn{free: true}
	p := scripted.Sequence(calls("book", `{}`), scripted.Text("On the page."))
	n := oracletest.Start(t, p, with(i))
	alice := n.As(t, identitytest.Alice)
	said := map[string]any{"id": "m", "role": "user", "parts": []any{map[string]any{"type": "text", "text": "book a room"}}}
	got := alice.Do("POST", "/ai-sdk/chat", map[string]any{"id": "c", "messages": []any{said}})
	if body := string(got.Body); !strings.Contains(body, "On the page.") || strings.Contains(body, "tool-approval-request") {
		t.Errorf("answer: %s", body)
	}
	last := lastTurn(p)
	if told := last.Messages[len(last.Messages)-1].Text; !strings.Contains(told, "cannot be given where the user is") {
		t.Errorf("the model was told %q", told)
	}
}
