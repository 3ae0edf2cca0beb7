package ussdsql_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdbook"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdquestion"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

// careful is an oracle that does nothing without approval: it asks for as many
// as wants names, one after the other.
type careful struct {
	mu      sync.Mutex
	wants   []string
	decided map[string]bool
	late    bool // nothing waits any more
	said    []string
	asked   map[string]bool
	down    error
}

func (o *careful) Ask(_ context.Context, q ussdquestion.Question) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.asked == nil {
		o.asked = map[string]bool{}
	}
	o.asked[q.ID] = true
	if o.late {
		return "Nobody approved it, so I left it.", nil
	}
	if o.down != nil {
		return "", o.down
	}
	var done []string
	for _, want := range o.wants {
		yes, known := o.decided[want]
		if !known {
			return "", &ussdquestion.ApprovalError{ID: want, Text: "post__send: " + want}
		}
		done = append(done, map[bool]string{true: "did ", false: "left "}[yes]+want)
	}
	return "I " + strings.Join(done, " and ") + ".", nil
}

func (o *careful) Decide(_ context.Context, _ ussdquestion.Question, approval string, approve bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.late {
		return fault.New(fault.Gone, "over")
	}
	if o.decided == nil {
		o.decided = map[string]bool{}
	}
	if said, known := o.decided[approval]; known && said != approve {
		return fault.New(fault.Conflict, "answered otherwise")
	}
	o.decided[approval] = approve
	o.said = append(o.said, approval)
	return nil
}

func (o *careful) expire() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.late = true
}

func approving(o *careful) func(*ussd.Config) {
	return func(c *ussd.Config) { c.Oracle, c.Approvals = o, o }
}

// What the oracle wants to do is decided on the telephone, one after the other.
func TestApprovalsAreDecidedByTelephone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		oracle := &careful{wants: []string{"a", "b"}}
		p := ussdtest.NewPhone(node(approving(oracle)), alice, "s0")
		register(t, p, pin)
		p.Expect(t, "1", "Ask the oracle", "5", "Type your question", "Send both",
			"May I do this?\npost__send: a\n1. Yes, do it\n2. No", "3", "Invalid selection", "1", "May I do this?\npost__send: b", "2", "I did a and left b.",
			"0", "My account", "7", "Invalid selection")
		if a := p.Again(t); a.Text == "" {
			t.Error("a repetition is answered with nothing")
		}
		if len(oracle.asked) != 1 {
			t.Errorf("%d questions were asked", len(oracle.asked))
		}
	})
}

// Whoever hangs up finds the question after the next login, at another node.
func TestApprovalsWaitForTheNextLogin(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		oracle := &careful{wants: []string{"a"}}
		p := ussdtest.NewPhone(node(approving(oracle)), alice, "s0")
		register(t, p, pin)
		p.Expect(t, "1", "", "5", "", "Send it", "May I do this?", "0", "My account", "7", "May I do this?\npost__send: a")
		other := ussdtest.NewPhone(node(approving(oracle)), alice, "s1")
		other.Dial(t, "s1")
		other.Expect(t, "2", "", "1", "", pin, "2. Read your answer", "2", "May I do this?\npost__send: a", "1", "I did a.", "0", "", "7", "Invalid selection")
		// The first telephone still shows what was decided elsewhere by now.
		p.Expect(t, "2", "Too late to decide.\nMy account")
		if len(oracle.said) != 1 || !oracle.decided["a"] {
			t.Errorf("decided: %v, %v", oracle.said, oracle.decided)
		}
	})
}

// A session that was cut off at the question is continued at the question.
func TestACutOffApprovalIsContinued(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		oracle := &careful{wants: []string{"a"}}
		resuming := func(c *ussd.Config) { c.ResumeWindow = 10 * time.Minute }
		p := ussdtest.NewPhone(node(approving(oracle), resuming), alice, "s0")
		register(t, p, pin)
		p.Expect(t, "1", "", "5", "", "Send it", "May I do this?")
		other := ussdtest.NewPhone(node(approving(oracle), resuming), alice, "s1")
		other.Dial(t, "s1")
		other.Expect(t, "1", "Enter your PIN", pin, "May I do this?\npost__send: a\n1. Yes", "1", "I did a.")
	})
}

// Time that is over is said, and what the oracle made of it can be read.
func TestLateApprovalsAreSaidToBeLate(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		oracle := &careful{wants: []string{"a"}}
		p := ussdtest.NewPhone(node(approving(oracle)), alice, "s0")
		register(t, p, pin)
		p.Expect(t, "1", "", "5", "", "Send it", "May I do this?")
		oracle.expire()
		p.Expect(t, "1", "Too late to decide.\nMy account", "7", "Nobody approved it, so I left it.", "0", "", "7", "Invalid selection")
	})
}

// Another question withdraws the one that waits for approval.
func TestAnotherQuestionWithdrawsAnApproval(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		oracle := &careful{wants: []string{"a"}}
		p := ussdtest.NewPhone(node(approving(oracle)), alice, "s0")
		register(t, p, pin)
		p.Expect(t, "1", "", "5", "", "Send it", "May I do this?", "0", "")
		oracle.wants = nil
		p.Expect(t, "5", "", "Never mind", "I .", "0", "My account", "7", "Invalid selection")
	})
}

// A decision that does not reach the oracle is not lost: it can be taken again.
func TestAnOracleThatIsAwayDoesNotForgetItsQuestion(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		oracle := &careful{wants: []string{"a"}}
		p := ussdtest.NewPhone(node(approving(oracle)), alice, "s0")
		register(t, p, pin)
		p.Expect(t, "1", "", "5", "", "Send it", "May I do this?")
		oracle.down = errors.New("no model")
		p.Expect(t, "1", "The oracle is away")
		oracle.down = nil
		p.Expect(t, "7", "I did a.")
	})
}

// A menu that does not know approvals reads the question out.
func TestMenusWithoutApprovalsReadTheQuestionOut(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, node func(...func(*ussd.Config)) *ussd.Service) {
		source := strings.ReplaceAll(string(ussd.DefaultMenuSource()), "ok: [{when: approval, to: oracleAsks}, {to: oracleAnswer}]", "ok: oracleAnswer")
		asks, rest, _ := strings.Cut(source, "  oracleAsks:\n")
		source = asks + rest[strings.Index(rest, "  answerPromised:\n"):]
		before, after, _ := strings.Cut(source, "  deciding:\n")
		menu, err := ussd.ParseMenu("old.yaml", []byte(before+after[strings.Index(after, "  lookingUpEntity:\n"):]), ussdmenu.Limit{})
		if err != nil {
			t.Fatal(err)
		}
		p := ussdtest.NewPhone(node(approving(&careful{wants: []string{"a"}}), func(c *ussd.Config) {
			c.Menus = ussdbook.Of(menu)
		}), alice, "s0")
		register(t, p, pin)
		p.Expect(t, "1", "", "5", "", "Send it", "post__send: a\n1. Ask again")
	})
}
