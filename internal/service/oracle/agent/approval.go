package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/form"
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
	errUntold  = plugin.Errorf(403, "The user did not tell what the tool asked for, so that it did not go on. Do not try it again unless the user asks for it.")
	errUnheard = plugin.Errorf(403, "Nobody told in time what the tool asked for, so that it did not go on. It had begun before it asked. Tell the user, who can ask for it again.")
	// ErrNotThere is for turns that came by a program which cannot ask its user.
	ErrNotThere = plugin.Errorf(403, "This call needs the user's approval, which cannot be given by the program through which the user speaks. It was not run. Tell the user to ask for it on the oracle's own page.")
)

// consult decides which calls of the last step wait for the person, and settles
// those that were denied. What was approved is fresh: it is saved as approved
// before it is run, so that whoever finds it approved later knows that it may
// have begun.
func (l *loop) consult(ctx context.Context, calls []Call, tools map[string]Tool, resumed bool) error {
	var answers map[string]oracle.Approval
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
		answer, asked := answers[c.ID]
		switch {
		case !asked || answer.Round != c.Round: // the node died before it could ask
		case answer.Decision == oracle.Approve:
			c.Approved, c.Given, l.fresh[c.ID] = true, answer.Content, true
		case answer.Decision == oracle.Deny && c.Question != nil:
			l.settle(i, plugin.Result{}, errUntold)
		case answer.Decision == oracle.Deny:
			l.settle(i, plugin.Result{}, errDenied)
		case c.Question != nil:
			l.settle(i, plugin.Result{}, errUnheard)
		default:
			l.settle(i, plugin.Result{}, errExpired)
		}
	}
	return nil
}

func (l *loop) answers(ctx context.Context) (map[string]oracle.Approval, error) {
	if l.Answers == nil {
		return map[string]oracle.Approval{}, nil
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
		l.settle(i, plugin.Result{}, cmp.Or(l.Unasked, error(errNobody)))
		return
	}
	if _, err := l.check(tools, *c, resumed); err != nil {
		l.settle(i, plugin.Result{}, err)
		return
	}
	c.Asks = reason
}

// Bounds of what one call asks a person: how often, in how many words, and how much its
// tool has kept meanwhile, which is stored with the run.
const (
	MaxRounds   = 5
	maxQuestion = 2 << 10
	maxKept     = 64 << 10
)

// question lets a call rest that cannot go on before its person has answered, or says
// why it cannot ask.
func (l *loop) question(i int, q plugin.Ask) error {
	asked, err := form.Parse(q.Form)
	if err == nil {
		q.Form, err = asked.Encode()
	}
	if err != nil {
		l.Log.Info("a tool asks in a way that cannot be shown", slog.String("event", "tool.question_refused"), slog.Any("error", err))
		return plugin.Errorf(422, "The tool asks the user for something that cannot be shown as a form. It did not go on.")
	}
	if len(q.State) > maxKept {
		return plugin.Errorf(422, "The tool wants more than %d bytes kept until the user has answered. It did not go on.", maxKept)
	}
	q.Message = Cap(q.Message, maxQuestion)
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &l.state.Steps[len(l.state.Steps)-1].Calls[i]
	switch {
	case l.Answers == nil:
		return cmp.Or(l.Unasked, error(errNobody))
	case !l.Fills:
		return plugin.Errorf(422, "The tool asks the user for something (%s), which cannot be given where the user is. It did not go on. "+
			"Tell the user to ask for it on the oracle's own page.", q.Message)
	case c.Round == MaxRounds:
		return plugin.Errorf(422, "The tool asked the user %d times, and asks again. It was stopped.", MaxRounds)
	}
	c.Question, c.Given, c.Asks, c.Approved = &q, nil, oracle.AsksInput, false
	c.Round++
	return nil
}

// answered is what the person said to the call's last question.
func (c Call) answered() *plugin.Answered {
	if c.Question == nil || c.Given == nil {
		return nil
	}
	return &plugin.Answered{Ask: *c.Question, Content: c.Given}
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
