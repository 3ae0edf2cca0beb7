package run

import (
	"context"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/bus/busmem"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

// shelf is a store from which waiting runs are taken in the order of their turns.
type shelf struct {
	Store
	order []string
}

func (s *shelf) Claim(_ context.Context, id, _ string, _ time.Duration) (oracle.Run, error) {
	if len(s.order) == 0 || s.order[0] != id {
		return oracle.Run{}, ErrLost
	}
	s.order = s.order[1:]
	return oracle.Run{ID: id, SessionID: "s", Status: oracle.Running, Epoch: 1, Attempt: 1, NextSeq: 3}, nil
}

func (*shelf) Live(context.Context) (bool, error) { return true, nil }

func (s *shelf) Claimable(context.Context, time.Duration, int) ([]string, error) {
	return s.order[:min(len(s.order), 1)], nil
}

func (*shelf) Heads(_ context.Context, ids []string) (map[string]Head, error) {
	return map[string]Head{ids[0]: {Status: oracle.Queued}}, nil
}

func (*shelf) Finish(context.Context, Ending) error { return nil }

// told hears what runs are handed.
type told struct{ carried chan oracle.Carried }

func (w told) Work(_ context.Context, job Job) Result {
	w.carried <- job.Carried
	return Result{Status: oracle.Finished}
}

func (told) GiveUp(context.Context, oracle.Run, []oracle.Frame) Result { return Result{} }

// Messages that wait begin in the order of their turns, with the credentials
// that came with them, also when requests that came at the same time were noted
// the other way round, and whichever way the node finds that they may begin.
func TestWaitingRunsKeepTheirCredentials(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]func(*Engine){
		"freed": func(e *Engine) { e.startWaiting(t.Context()) },
		"found": func(e *Engine) { e.takeOver(t.Context()) },
	} {
		b := busmem.New()
		w := told{make(chan oracle.Carried, 2)}
		e := New(&shelf{order: []string{"first", "second"}}, b, w, Config{})
		for _, r := range []oracle.Run{{ID: "second", Turn: 3}, {ID: "first", Turn: 2}} {
			r.SessionID, r.Status = "s", oracle.Queued
			var out Started
			e.launchOrWait(Begun{Run: r}, oracle.Carried{Brought: identity.Brought{Delegation: "of " + r.ID}}, &out)
			defer out.Reader.Close()
		}
		for _, id := range []string{"first", "second"} {
			look(e)
			e.jobs.Wait()
			select {
			case got := <-w.carried:
				if got.Brought.Delegation != "of "+id {
					t.Errorf("%s: the %s run was handed %v", name, id, got)
				}
			default:
				t.Errorf("%s: the %s run did not begin", name, id)
			}
		}
		if len(e.waiting) > 0 {
			t.Errorf("%s: %v still wait", name, e.waiting)
		}
		e.cancel(nil)
		_ = b.Close()
	}
}
