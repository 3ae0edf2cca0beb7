package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/castalia-org/castalia/internal/service/oracle"
)

// pause puts a run to rest until a person has answered. Everything that is
// needed to go on is stored in one write, with the question itself; nothing of
// the run stays in this node.
func (e *Engine) pause(log *Log, r oracle.Run, result Result) error {
	checkpoint, err := json.Marshal(result.Checkpoint)
	if err != nil {
		return fmt.Errorf("encode checkpoint: %w", err)
	}
	now, limit := time.Now(), e.cfg.ApprovalTime
	asked := slices.Clone(result.Approvals)
	if !slices.ContainsFunc(asked, func(a oracle.Approval) bool { return a.Reason != oracle.AsksDelegation }) {
		limit = e.cfg.Delegation
	}
	for i := range asked {
		a := &asked[i]
		a.ID, a.RunID, a.SessionID, a.Owner = oracle.NewID(), r.ID, r.SessionID, r.Owner
		a.CreatedAt, a.ExpiresAt = now, now.Add(limit)
	}
	required := oracle.ApprovalRequired{
		Address: oracle.Address{SessionID: r.SessionID, RequestID: r.RequestID}, RunID: r.ID,
		Approvals: oracle.ApprovalBodies(asked), Timestamp: oracle.Timestamp(now),
	}
	if err := log.Emit(oracle.FrameApprovalRequired, required); err != nil {
		return err
	}
	p := Pausing{
		Batch: log.take(), Approvals: asked, For: limit, Model: result.Model, Usage: result.Usage, Steps: result.Steps,
	}
	p.Checkpoint = checkpoint
	if err := retry(e.base, func() error { return e.store.Pause(e.base, p) }); err != nil {
		return fmt.Errorf("pause run: %w", err)
	}
	e.log.Info("a run waits for its user", slog.String("event", "run.paused"), slog.String("run_id", r.ID), slog.Int("calls", len(asked)))
	log.landed(p.Batch)
	e.cfg.Paused(e.base, r, required)
	if result.Granted != nil {
		e.lookAgain(r, result.Granted)
	}
	return nil
}

// lookAgain goes on at once with a run whose delegation came while it was put to
// rest. Where that cannot be found out, the person still sees the question.
func (e *Engine) lookAgain(r oracle.Run, granted func(context.Context) (bool, error)) {
	ok, err := granted(e.base)
	if ok {
		err = e.Delegated(e.base, oracle.Answer{Owner: r.Owner, Via: oracle.ViaHTTP}, oracle.Carried{})
	}
	if err != nil {
		e.log.Warn("whether a delegation has come could not be looked up", slog.String("event", "run.delegation_lookup_failed"), slog.String("run_id", r.ID), slog.Any("error", err))
	}
}

// Delegated tells that the user stored a delegation: what waits for one goes on, but for runs
// for which it does not count.
func (e *Engine) Delegated(ctx context.Context, by oracle.Answer, carried oracle.Carried) error {
	waiting, err := e.Pending(ctx, by.Owner, "")
	if err != nil {
		return fmt.Errorf("look for what waits for a delegation: %w", err)
	}
	by.Decision, by.InPerson = oracle.Approve, true // the delegation, which the owner signed, is the answer
	for _, a := range waiting {
		if a.Reason != oracle.AsksDelegation {
			continue
		}
		r, err := e.store.Run(ctx, by.Owner, a.RunID)
		if err != nil && !errors.Is(err, oracle.ErrRunNotFound) {
			return fmt.Errorf("look up what waits for a delegation: %w", err)
		}
		if err != nil || r.Narrow { // what the owner stores is nothing to whoever began that one
			continue
		}
		by.ApprovalID = a.ID
		_, err = e.Answer(ctx, by, carried)
		if err != nil && !errors.Is(err, oracle.ErrAnswered) && !errors.Is(err, oracle.ErrApprovalOver) &&
			!errors.Is(err, oracle.ErrApprovalNotFound) {
			return fmt.Errorf("go on with what waited for a delegation: %w", err)
		}
	}
	return nil
}

// asksApproval reports whether frames say that their run rests.
func asksApproval(frames []oracle.Frame) bool {
	return slices.ContainsFunc(frames, func(f oracle.Frame) bool { return f.Event == oracle.FrameApprovalRequired })
}

// Answer stores what a person decided about a call. When the run waits for
// nothing else, this node goes on with it, with what the answer carried.
func (e *Engine) Answer(ctx context.Context, a oracle.Answer, carried oracle.Carried) (oracle.Approval, error) {
	if a.Decision != oracle.Approve && a.Decision != oracle.Deny {
		return oracle.Approval{}, oracle.ErrNoDecision
	}
	if !oracle.PlausibleID(a.ApprovalID) {
		return oracle.Approval{}, oracle.ErrApprovalNotFound
	}
	approval, ready, err := e.store.Answer(ctx, a)
	if err != nil {
		return oracle.Approval{}, err
	}
	if ready {
		e.log.Info("a user answered", slog.String("event", "run.answered"), slog.String("run_id", approval.RunID), slog.String("approval_id", approval.ID),
			slog.String("decision", string(approval.Decision)), slog.String("via", approval.Via))
		e.wake(ctx, approval.RunID, carried)
	}
	return approval, nil
}

// Pending are the user's calls that wait now, in one session or in all.
func (e *Engine) Pending(ctx context.Context, owner, sessionID string) ([]oracle.Approval, error) {
	const most = 100
	return e.store.Pending(ctx, owner, sessionID, most)
}

// Approvals are all that a run asked its user for.
func (e *Engine) Approvals(ctx context.Context, runID string) ([]oracle.Approval, error) {
	return e.store.Approvals(ctx, runID)
}

// wake goes on with a run that rested. When this node cannot, another will
// within a second or two; false says that there is nothing to go on with here.
func (e *Engine) wake(ctx context.Context, id string, carried oracle.Carried) bool {
	r, err := e.store.Claim(ctx, id, e.cfg.Node, e.cfg.LeaseTTL)
	switch {
	case err == nil:
		if r.Narrow { // who answered is somebody else, whose files are not for its readers
			carried.Brought = r.Left()
		}
		e.launch(r, carried) //nolint:contextcheck // a run ends by itself, not with the request
	case !errors.Is(err, ErrLost):
		e.log.Warn("a run that rested could not be taken; it is tried again", slog.String("event", "run.resume_failed"), slog.Any("error", err))
	}
	return !errors.Is(err, ErrLost)
}
