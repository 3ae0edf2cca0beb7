package oracletest

import (
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
)

// Rest pauses a run for calls with the given ids.
func Rest(t testing.TB, st run.Store, r oracle.Run, lasts time.Duration, calls ...string) run.Pausing {
	t.Helper()
	f, err := oracle.NewFrame(oracle.FrameApprovalRequired, oracle.ApprovalRequired{RunID: r.ID})
	must(t, err)
	f.Seq = r.NextSeq
	p := run.Pausing{
		Batch: run.Batch{RunID: r.ID, Epoch: r.Epoch, Frames: []oracle.Frame{f}, Checkpoint: json.RawMessage(`{"steps":[]}`)},
		For:   lasts, Steps: 1,
	}
	for _, id := range calls {
		p.Approvals = append(p.Approvals, oracle.Approval{
			ID: oracle.NewID(), RunID: r.ID, SessionID: r.SessionID, Owner: r.Owner, CallID: id, Tool: "send",
			Args:   json.RawMessage(`{"to":"bob"}`),
			Reason: oracle.AsksConfirm, CreatedAt: time.Now(),
		})
	}
	must(t, st.Pause(t.Context(), p))
	return p
}

func answerTo(a oracle.Approval, owner string, d oracle.Decision) oracle.Answer {
	return oracle.Answer{ApprovalID: a.ID, Owner: owner, By: "token", Via: oracle.ViaHTTP, Decision: d, InPerson: true}
}

func testApprovals(t *testing.T, st Store) {
	ctx := t.Context()
	s := NewSession(t, st)
	r := Say(t, st, s.ID, "send it", oracle.Interrupt).Run
	p := Rest(t, st, r, time.Hour, "c1", "c2")
	must(t, st.Pause(ctx, p)) // its acknowledgement got lost
	standing, err := st.Renew(ctx, []run.Held{{RunID: r.ID, Epoch: r.Epoch}}, time.Minute)
	if err != nil || !standing[r.ID].Lost {
		t.Fatalf("the node that paused a run still holds it: %+v %v", standing, err)
	}
	if _, err := st.Claim(ctx, r.ID, "n2", time.Minute); !errors.Is(err, run.ErrLost) {
		t.Fatalf("a run that rests was taken: %v", err)
	}
	if ids, err := st.Claimable(ctx, 0, 10); err != nil || len(ids) != 0 {
		t.Fatalf("a run that rests is offered: %v %v", ids, err)
	}
	rests, ok, err := st.Latest(ctx, Owner, s.ID)
	if err != nil || !ok || !rests.Paused || rests.Pauses != 1 || rests.Steps != 1 {
		t.Fatalf("at rest: %+v %v", rests, err)
	}
	pending := func(owner, session string) int {
		list, err := st.Pending(ctx, owner, session, 10)
		must(t, err)
		return len(list)
	}
	if pending(Owner, "") != 2 || pending(Owner, s.ID) != 2 || pending(Owner, "elsewhere") != 0 || pending(Stranger, "") != 0 {
		t.Error("the wrong calls wait")
	}
	c1, c2 := p.Approvals[0], p.Approvals[1]
	if _, _, err := st.Answer(ctx, answerTo(c1, Stranger, oracle.Approve)); !errors.Is(err, oracle.ErrApprovalNotFound) {
		t.Errorf("a stranger approved: %v", err)
	}
	byProgram, inOther := answerTo(c1, Owner, oracle.Approve), answerTo(c1, Owner, oracle.Approve)
	byProgram.InPerson, inOther.SessionID = false, "elsewhere"
	if _, _, err := st.Answer(ctx, byProgram); !errors.Is(err, oracle.ErrNotInPerson) {
		t.Errorf("a program approved: %v", err)
	}
	if _, _, err := st.Answer(ctx, inOther); !errors.Is(err, oracle.ErrApprovalNotFound) {
		t.Errorf("it was approved by way of another session: %v", err)
	}
	got, ready, err := st.Answer(ctx, answerTo(c1, Owner, oracle.Approve))
	if err != nil || ready || got.Decision != oracle.Approve || got.AnsweredBy != "token" || got.Via != oracle.ViaHTTP ||
		got.AnsweredAt.IsZero() {
		t.Errorf("first answer: %+v %v %v", got, ready, err)
	}
	if _, ready, err = st.Answer(ctx, answerTo(c1, Owner, oracle.Approve)); err != nil || ready {
		t.Errorf("the same answer again: %v %v", ready, err)
	}
	if _, ready, err = st.Answer(ctx, byProgram); err != nil || ready {
		t.Errorf("a program repeats what was approved: %v %v", ready, err)
	}
	if _, _, err = st.Answer(ctx, answerTo(c1, Owner, oracle.Deny)); !errors.Is(err, oracle.ErrAnswered) {
		t.Errorf("another answer: %v", err)
	}
	if _, ready, err = st.Answer(ctx, answerTo(c2, Owner, oracle.Deny)); err != nil || !ready {
		t.Errorf("the last answer: %v %v", ready, err)
	}
	taken, err := st.Claim(ctx, r.ID, "n2", time.Minute)
	must(t, err)
	if taken.Paused || taken.Pauses != 1 || taken.Attempt != 2 || string(taken.Checkpoint) != `{"steps":[]}` {
		t.Errorf("woken: %+v", taken)
	}
	if _, ready, err = st.Answer(ctx, answerTo(c2, Owner, oracle.Deny)); err != nil || ready {
		t.Errorf("the same answer when the run goes on: %v %v", ready, err)
	}
	all, err := st.Approvals(ctx, r.ID)
	if err != nil || len(all) != 2 || pending(Owner, "") != 0 {
		t.Errorf("afterwards: %+v %v", all, err)
	}
	must(t, st.Finish(ctx, ending(t, taken)))
	_, err = st.DeleteSession(ctx, Owner, s.ID)
	must(t, err)
	if all, err = st.Approvals(ctx, r.ID); err != nil || len(all) != 0 {
		t.Errorf("approvals outlived their session: %v %v", all, err)
	}
}

// testApprovalsEnd has all the ways in which a run stops resting without an answer.
func testApprovalsEnd(t *testing.T, st Store) {
	ctx := t.Context()
	for name, end := range map[string]struct {
		lasts time.Duration
		stop  func(t *testing.T, r oracle.Run)
		want  oracle.Decision
	}{
		"time is over": {0, func(*testing.T, oracle.Run) {}, oracle.Expired},
		"it is aborted": {time.Hour, func(t *testing.T, r oracle.Run) {
			live, err := st.Abort(ctx, Owner, r.SessionID, "")
			if err != nil || len(live) != 1 || !live[0].Paused {
				t.Fatalf("aborted: %+v %v", live, err)
			}
		}, oracle.Withdrawn},
		"another message comes": {time.Hour, func(t *testing.T, r oracle.Run) {
			b := Say(t, st, r.SessionID, "never mind", oracle.Interrupt)
			if b.Run.Status != oracle.Queued || !slices.Equal(b.Woken, []string{r.ID}) {
				t.Fatalf("begun: %+v", b)
			}
		}, oracle.Withdrawn},
		"a message waits behind it": {time.Hour, func(t *testing.T, r oracle.Run) {
			b := Say(t, st, r.SessionID, "and then", oracle.Enqueue)
			if b.Run.Status != oracle.Queued || !slices.Equal(b.Woken, []string{r.ID}) {
				t.Fatalf("begun: %+v", b)
			}
		}, oracle.Withdrawn},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewSession(t, st)
			r := Say(t, st, s.ID, "send it", oracle.Interrupt).Run
			p := Rest(t, st, r, end.lasts, "c1")
			end.stop(t, r)
			if _, _, err := st.Answer(t.Context(), answerTo(p.Approvals[0], Owner, oracle.Approve)); !errors.Is(err,
				oracle.ErrApprovalOver) {
				t.Errorf("answered too late: %v", err)
			}
			ids, err := st.Claimable(t.Context(), 0, 10)
			must(t, err)
			if !slices.Contains(ids, r.ID) {
				t.Errorf("nobody is offered the run: %v", ids)
			}
			taken, err := st.Claim(t.Context(), r.ID, "n2", time.Minute)
			must(t, err)
			must(t, st.Finish(t.Context(), ending(t, taken)))
			all, err := st.Approvals(t.Context(), r.ID)
			if err != nil || len(all) != 1 || all[0].Decision != end.want {
				t.Errorf("kept: %+v %v", all, err)
			}
		})
	}
}

// testAnswersAtOnce answers all calls of a run at the same time: one answer is the last.
func testAnswersAtOnce(t *testing.T, st Store) {
	s := NewSession(t, st)
	r := Say(t, st, s.ID, "send it", oracle.Interrupt).Run
	p := Rest(t, st, r, time.Hour, "c1", "c2", "c3", "c4")
	last := make(chan bool, 2*len(p.Approvals))
	var all sync.WaitGroup
	for _, a := range slices.Concat(p.Approvals, p.Approvals) {
		all.Go(func() {
			_, ready, err := st.Answer(t.Context(), answerTo(a, Owner, oracle.Approve))
			if err != nil {
				t.Error(err)
			}
			if ready {
				last <- true
			}
		})
	}
	all.Wait()
	if len(last) != 1 {
		t.Errorf("%d answers were the last", len(last))
	}
	_, err := st.Claim(t.Context(), r.ID, "n2", time.Minute)
	must(t, err)
}

// testNarrow has whoever takes a run hear whether its request was narrow.
func testNarrow(t *testing.T, st Store) {
	ctx := t.Context()
	for _, narrow := range []bool{true, false} {
		s := NewSession(t, st)
		b, err := begin(t, st, oracle.Run{
			ID: oracle.NewID(), SessionID: s.ID, Owner: Owner, RequestID: oracle.NewID(), MessageID: oracle.NewID(),
			CreatedAt: time.Now(), Request: oracle.TurnRequest{Message: "look"}, Narrow: narrow,
		}, oracle.Interrupt, false)
		must(t, err)
		_, err = st.Renew(ctx, []run.Held{{RunID: b.Run.ID, Epoch: b.Run.Epoch}}, 0)
		must(t, err)
		taken, err := st.Claim(ctx, b.Run.ID, "n2", time.Minute)
		must(t, err)
		stored, err := st.Run(ctx, Owner, b.Run.ID)
		must(t, err)
		if b.Run.Narrow != narrow || taken.Narrow != narrow || stored.Narrow != narrow {
			t.Errorf("narrow %v: begun %v, taken %v, stored %v", narrow, b.Run.Narrow, taken.Narrow, stored.Narrow)
		}
	}
}
