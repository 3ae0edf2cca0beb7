package telephonekit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/words"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdquestion"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtext"
)

// Approvals are the calls of turns that wait for their users.
type Approvals interface {
	Pending(ctx context.Context, owner, sessionID string) ([]oracle.Approval, error)
	Answer(ctx context.Context, a oracle.Answer, carried oracle.Carried) (oracle.Approval, error)
}

var _ ussdquestion.Approvals = Oracle{}

// Decide implements ussdquestion.Approvals. Whoever logged in with a PIN speaks in
// person; the account is kept with the decision.
func (o Oracle) Decide(ctx context.Context, q ussdquestion.Question, approval string, approve bool) error {
	user, _, _, err := o.asker(ctx, q)
	if err != nil {
		return err
	}
	a := oracle.Answer{
		ApprovalID: approval, Owner: user, By: User + q.Account, Via: oracle.ViaTelephone,
		Decision: oracle.Deny, InPerson: true,
	}
	if approve {
		a.Decision = oracle.Approve
	}
	_, err = o.Approvals.Answer(ctx, a, oracle.Carried{})
	return err
}

// asks is the oldest call of a run that waits for the asker, as an error that says
// so; nil when none does any more. Calls are decided one by one: each is seen whole.
func (o Oracle) asks(ctx context.Context, user, session, run, language string) error {
	list, err := o.Approvals.Pending(ctx, user, session)
	if err != nil {
		return fmt.Errorf("look for what waits: %w", err)
	}
	list = slices.DeleteFunc(list, func(a oracle.Approval) bool {
		return a.RunID != run || a.Question != nil // forms are filled in on a page
	})
	if len(list) == 0 {
		return nil
	}
	return &ussdquestion.ApprovalError{ID: list[0].ID, Text: describe(list[0], len(list), language)}
}

// shownArgs is how much of a call's arguments a telephone shows, in characters.
const shownArgs = 900

// describe says what is to be approved, until when, and with which arguments. Values
// are quoted, so that nothing in them looks like a line of the menu.
func describe(a oracle.Approval, waiting int, language string) string {
	in := words.Shipped().Or(language, words.Shipped().English())
	var b strings.Builder
	until := in.SayPlain("phone.until", words.Values{"moment": a.ExpiresAt.UTC().Format("02/01 15:04 UTC")})
	fmt.Fprintf(&b, "%s (%s)", a.Tool, until)
	if waiting > 1 {
		b.WriteString("\n" + in.SayPlain("phone.several", words.Values{"n": strconv.Itoa(waiting)}))
	}
	if a.Reason == oracle.AsksUntrusted {
		b.WriteString("\n" + in.SayPlain("phone.untrusted", nil))
	}
	args := arguments(a.Args)
	shown := ussdtext.Bounded(args, shownArgs)
	b.WriteString("\n" + shown)
	if len(shown) < len(args) {
		b.WriteString("\n" + in.SayPlain("phone.shortened", nil))
	}
	return b.String()
}

// arguments writes a call's arguments, one a line.
func arguments(raw json.RawMessage) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return string(raw)
	}
	lines := make([]string, 0, len(members))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		var value bytes.Buffer
		if json.Compact(&value, members[name]) != nil {
			value.Write(members[name])
		}
		lines = append(lines, name+": "+value.String())
	}
	return strings.Join(lines, "\n")
}

// rewait is how soon it is asked again whether a turn that was just answered goes on.
const rewait = 50 * time.Millisecond
