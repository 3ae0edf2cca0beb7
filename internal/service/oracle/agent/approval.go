package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/plugin"
)

// ErrWaits says that a turn cannot go on before the person has answered. Its
// state holds the calls that wait; run again, it goes on with them.
var ErrWaits = errors.New("calls wait for the person's approval")

// What a model reads of calls that were not approved.
var (
	errDenied  = plugin.Errorf(403, "The user did not approve this call. It was not run. Do not try it again unless the user asks for it.")
	errExpired = plugin.Errorf(403, "Nobody approved this call in time. It was not run. Tell the user, who can ask for it again.")
	errNobody  = plugin.Errorf(403, "This call needs the user's approval, for which a sub-agent cannot ask. It was not run.")
	// ErrNotThere is for turns that came by a program which cannot ask its user.
	ErrNotThere = plugin.Errorf(403, "This call needs the user's approval, which cannot be given by the program through which the user speaks. It was not run. Tell the user to ask for it on the oracle's own page.")
)

// consult decides which calls of the last step wait for the person, and settles
// those that were denied. What was approved is fresh: it is saved as approved
// before it is run, so that whoever finds it approved later knows that it may
// have begun.
func (l *loop) consult(ctx context.Context, calls []Call, tools map[string]Tool, resumed bool) error {
	var answers map[string]oracle.Decision
	for i := range calls {
		c := &calls[i]
		if c.Status != "" || c.Caller {
			continue
		}
		if c.Asks == "" {
			l.ask(i, c, tools, resumed)
			continue
		}
		if !c.Waits() {
			continue
		}
		if answers == nil {
			var err error
			if answers, err = l.answers(ctx); err != nil {
				return fmt.Errorf("read approvals: %w", err)
			}
		}
		decision, asked := answers[c.ID]
		switch {
		case !asked: // the node died before it could ask
		case decision == oracle.Approve:
			c.Approved, l.fresh[c.ID] = true, true
		case decision == oracle.Deny:
			l.settle(i, plugin.Result{}, errDenied)
		default:
			l.settle(i, plugin.Result{}, errExpired)
		}
	}
	return nil
}

func (l *loop) answers(ctx context.Context) (map[string]oracle.Decision, error) {
	if l.Answers == nil {
		return map[string]oracle.Decision{}, nil
	}
	return l.Answers(ctx)
}

// ask marks a call that needs an approval. One that could not be run anyway, or
// may have begun before, is left to those who say so.
func (l *loop) ask(i int, c *Call, tools map[string]Tool, resumed bool) {
	t, known := tools[c.Name]
	reason := l.reason(t)
	if !known || reason == "" || resumed && !t.Safe {
		return
	}
	if l.Answers == nil {
		refusal := l.Unasked
		if refusal == nil {
			refusal = errNobody
		}
		l.settle(i, plugin.Result{}, refusal)
		return
	}
	if _, err := l.check(tools, *c, resumed); err != nil {
		l.settle(i, plugin.Result{}, err)
		return
	}
	c.Asks = reason
}

// reason is why calls of a tool need an approval in this step. What the step
// itself reads does not count: the model asked for all of it at once.
func (l *loop) reason(t Tool) string {
	before := State{Steps: l.state.Steps[:len(l.state.Steps)-1]}
	switch {
	case t.Confirm:
		return oracle.AsksConfirm
	case t.Asks:
		return oracle.AsksOperator
	case !t.ReadOnly && (l.Untrusted || before.Untrusted()):
		return oracle.AsksUntrusted // before the delegation, which says nothing about this call
	case t.Granted != nil && l.Delegates && l.Answers != nil:
		return oracle.AsksDelegation
	}
	return ""
}
