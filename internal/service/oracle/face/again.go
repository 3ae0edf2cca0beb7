package face

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
	"github.com/castalia-org/castalia/plugin"
)

// Again reads a run of the caller's from its beginning. Leaving it does not stop it.
func (f *Faces) Again(ctx context.Context, owner, runID string) (*Answer, error) {
	if !oracle.PlausibleID(runID) {
		return nil, oracle.ErrRunNotFound
	}
	answer, err := f.read(ctx, owner, runID, false)
	if errors.Is(err, run.ErrPruned) {
		return nil, fault.New(fault.Gone, "This answer is older than answers are kept for those who come back. Its session's transcript has it, if that was kept.")
	}
	return answer, err
}

// calledFor is how long a request can be cancelled by its name: longer than any waits.
const calledFor = time.Hour

func callKey(owner, name string) string { return "call/" + noteKey(owner, "", name) }

// NoteCall keeps the name under which a program waits for a run, so that any node can cancel it.
func (f *Faces) NoteCall(ctx context.Context, a *Answer, name string) error {
	value, err := json.Marshal(noted{RunID: a.RunID})
	if err != nil {
		return err
	}
	return f.deps.Marks.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		return tx.Put(ctx, callKey(a.owner, name), value, calledFor)
	})
}

// ForgetCall says that nobody waits under the name any more.
func (f *Faces) ForgetCall(ctx context.Context, owner, name string) error {
	return f.deps.Marks.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		return tx.Delete(ctx, callKey(owner, name))
	})
}

// CancelCall stops the run for which a program waits under the name, if there is one.
func (f *Faces) CancelCall(ctx context.Context, owner, name string) error {
	value, ok, err := f.deps.Marks.Get(ctx, callKey(owner, name))
	if err != nil || !ok {
		return err
	}
	var n noted
	if err := json.Unmarshal(value, &n); err != nil {
		return fmt.Errorf("decode call: %w", err)
	}
	r, err := f.deps.Engine.Get(ctx, owner, n.RunID)
	if err != nil {
		return missing(err)
	}
	_, err = f.deps.Engine.AbortRun(ctx, owner, r.SessionID, r.ID)
	return err
}
