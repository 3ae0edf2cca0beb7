package run

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/bus/busmem"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

// rest is a store in which runs wait for their user; of those named some are narrow.
type rest struct {
	Store
	runs     map[string]bool
	answered []string
}

func (s *rest) Run(_ context.Context, _, id string) (oracle.Run, error) {
	narrow, ok := s.runs[id]
	if !ok {
		return oracle.Run{}, oracle.ErrRunNotFound
	}
	return oracle.Run{ID: id, SessionID: "s", Status: oracle.Running, Attempt: 2, NextSeq: 3, Narrow: narrow}, nil
}

func (s *rest) Claim(ctx context.Context, id, _ string, _ time.Duration) (oracle.Run, error) {
	return s.Run(ctx, "", id)
}

func (*rest) Live(context.Context) (bool, error) { return true, nil }

func (s *rest) Claimable(context.Context, time.Duration, int) ([]string, error) {
	var ids []string
	for id := range s.runs {
		ids = append(ids, id)
	}
	return ids, nil
}

func (s *rest) Pending(context.Context, string, string, int) ([]oracle.Approval, error) {
	out := []oracle.Approval{{ID: oracle.NewID(), RunID: "deleted", Reason: oracle.AsksDelegation}}
	for id := range s.runs {
		out = append(out, oracle.Approval{ID: id, RunID: id, Reason: oracle.AsksDelegation})
	}
	return out, nil
}

func (s *rest) Answer(_ context.Context, a oracle.Answer) (oracle.Approval, bool, error) {
	s.answered = append(s.answered, a.ApprovalID)
	return oracle.Approval{ID: a.ApprovalID, RunID: a.ApprovalID}, true, nil
}

func (*rest) Finish(context.Context, Ending) error { return nil }

// Whoever began a run with a delegation alone comes to nothing that its issuer stored or brings,
// however the run goes on without that request.
func TestANarrowRunGoesOnWithNothing(t *testing.T) {
	t.Parallel()
	owns := oracle.Carried{Brought: identity.Brought{Delegation: "of its owner", InPerson: true}}
	for name, c := range map[string]struct {
		goOn func(e *Engine, id string)
		wide identity.Brought
	}{
		"taken over": {func(e *Engine, _ string) { e.takeOver(t.Context()) }, identity.Brought{}},
		"answered by its owner": {func(e *Engine, id string) {
			_, err := e.Answer(t.Context(), oracle.Answer{ApprovalID: id, Decision: oracle.Approve, InPerson: true}, owns)
			if err != nil {
				t.Error(err)
			}
		}, owns.Brought},
		"answered by who holds another delegation": {func(e *Engine, id string) {
			_, err := e.Answer(t.Context(), oracle.Answer{ApprovalID: id, Decision: oracle.Deny},
				oracle.Carried{Brought: identity.Brought{Delegation: "another"}})
			if err != nil {
				t.Error(err)
			}
		}, identity.Brought{Delegation: "another"}},
	} {
		for narrow, want := range map[bool]identity.Brought{true: {Nothing: true}, false: c.wide} {
			id := oracle.NewID()
			b := busmem.New()
			w := told{make(chan oracle.Carried, 1)}
			e := New(&rest{runs: map[string]bool{id: narrow}}, b, w, Config{})
			c.goOn(e, id)
			e.jobs.Wait()
			if got := <-w.carried; got.Brought != want {
				t.Errorf("%s, narrow %v: it goes on with %+v", name, narrow, struct{ identity.Brought }{got.Brought})
			}
			e.cancel(nil)
			_ = b.Close()
		}
	}
}

// A delegation that the user stores wakes what waits for one, but for runs of those who
// hold another one alone.
func TestAStoredDelegationWakesNoNarrowRun(t *testing.T) {
	t.Parallel()
	wide, narrow := oracle.NewID(), oracle.NewID()
	b := busmem.New()
	defer func() { _ = b.Close() }()
	st := &rest{runs: map[string]bool{wide: false, narrow: true}}
	e := New(st, b, told{make(chan oracle.Carried, 2)}, Config{})
	if err := e.Delegated(t.Context(), oracle.Answer{Owner: "did:key:z"}, oracle.Carried{}); err != nil {
		t.Fatal(err)
	}
	e.jobs.Wait()
	if !slices.Equal(st.answered, []string{wide}) {
		t.Errorf("woken: %v", st.answered)
	}
}
