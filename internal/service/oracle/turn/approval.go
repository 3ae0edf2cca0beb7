package turn

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/agent"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
	"github.com/castalia-org/castalia/internal/service/oracle/usage"
)

// unapproved is what the transcript says of a call that still waited for the
// person when its turn ended.
const unapproved = "It was not run: it was not approved."

// answers reads what became of the calls that the turn asked for. A call that
// nobody answered has expired: only then is a run taken up that waits.
func (t *turn) answers(ctx context.Context) (map[string]oracle.Approval, error) {
	list, err := patiently(ctx, func() ([]oracle.Approval, error) { return t.deps.Approvals.Approvals(ctx, t.run.ID) })
	if err != nil {
		return nil, err
	}
	out := make(map[string]oracle.Approval, len(list))
	for _, a := range list {
		if a.Decision == "" {
			a.Decision = oracle.Expired
		}
		if a.Round >= out[a.CallID].Round {
			out[a.CallID] = a
		}
		t.tellAnswer(ctx, a)
	}
	return out, nil
}

// tellAnswer tells readers and open pages that a call does not wait any more.
func (t *turn) tellAnswer(ctx context.Context, a oracle.Approval) {
	p := oracle.ApprovalAnswered{
		Address: t.to, RunID: t.run.ID, ApprovalID: a.ID, ToolCallID: a.CallID, ToolName: a.Tool, Decision: a.Decision,
		Timestamp: oracle.Timestamp(time.Now()),
	}
	t.emit(oracle.FrameApprovalAnswered, p)
	t.publish(context.WithoutCancel(ctx), oracle.EventApprovalAnswered, p)
}

// Paused tells open pages that a run waits for its user: see run.Config.
func (w *Worker) Paused(ctx context.Context, r oracle.Run, required oracle.ApprovalRequired) {
	to := oracle.Address{SessionID: r.SessionID, RequestID: r.RequestID}
	tell(ctx, w.deps.Publisher, w.deps.Log, oracle.EventApprovalRequired, to, required)
}

// pauseFor makes a result rest: its calls are put to the person. Should an abort
// come first, the result ends the run as it is.
func (t *turn) pauseFor(state agent.State, result *run.Result) {
	result.Status = oracle.Aborted
	state.Usage = result.Usage
	result.Checkpoint = state
	for _, step := range state.Steps {
		for _, c := range step.Calls {
			if c.Waits() {
				asked := oracle.Approval{
					CallID: c.ID, Tool: c.Name, Args: agent.AsStored(c.Arguments()), Reason: c.Asks, Round: c.Round,
				}
				if q := c.Question; q != nil {
					asked.Question = &oracle.AskedFor{From: q.From, Message: q.Message, Form: q.Form}
				}
				result.Approvals = append(result.Approvals, asked)
				if c.Asks == oracle.AsksDelegation {
					result.Granted = t.granted(c.Name)
				}
			}
		}
	}
	if result.Granted != nil {
		t.askDelegation()
	}
}

// askDelegation asks the user's page for a delegation.
func (t *turn) askDelegation() {
	t.emit(oracle.FrameDelegationRequired, oracle.DelegationRequired{
		Address: t.to, OracleDID: t.deps.Identity.DID, OracleEntityDID: t.deps.Identity.EntityDID,
		Timestamp: oracle.Timestamp(time.Now()),
	})
}

// granted looks whether the user has delegated by now what a tool needs.
func (t *turn) granted(tool string) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		for _, one := range t.tools.list() {
			if one.Name == tool && one.Granted != nil {
				return one.Granted(ctx, t.rt)
			}
		}
		return false, nil
	}
}

// Paused is the status of an answer that waits for its user's approval.
const Paused = "paused"

// Question says in words what a run waits for, for those who cannot draw it.
func Question(list []oracle.Approval) string {
	var b strings.Builder
	b.WriteString("This needs your approval before it is done:")
	for _, a := range list {
		fmt.Fprintf(&b, "\n- %s %s", a.Tool, agent.Cap(string(a.Args), 300))
		if q := a.Question; q != nil {
			fmt.Fprintf(&b, "; %s asks you: %s", q.From, q.Message)
		}
	}
	return b.String()
}

// fills reports whether the user can be shown a form, where they are.
func fills(q oracle.TurnRequest) bool {
	switch q.Origin {
	case usage.SourceTelephone, usage.SourceCall:
		return false
	case usage.SourceFace:
		return q.Fills
	}
	return true
}
