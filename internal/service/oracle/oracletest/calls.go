package oracletest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
)

// CallStore is what TestCalls needs: calls, and the sessions that they are in.
type CallStore interface {
	call.Store
	CreateSession(ctx context.Context, s oracle.Session) error
	DeleteSession(ctx context.Context, owner, id string) ([]oracle.Run, error)
}

// TestCalls is the contract of a call.Store.
func TestCalls(t *testing.T, open func(t *testing.T) CallStore) {
	t.Helper()
	for name, test := range map[string]func(t *testing.T, s CallStore){
		"a call is its owner's":                             testCallOwner,
		"states go one way":                                 testCallStates,
		"a user has so many and no more, however they race": testCallLimit,
		"a dead node's calls are swept once":                testCallSweep,
		"an unfinished recording is somebody's to finish":   testCallRecordings,
		"calls go with their session":                       testCallSession,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			for _, owner := range []string{"alice", "bob"} {
				session := oracle.Session{ID: "s-" + owner, Owner: owner, CreatedAt: callsNow, UpdatedAt: callsNow}
				must(t, s.CreateSession(t.Context(), session))
			}
			test(t, s)
		})
	}
}

// The moment of the calls, and what a user may have of them.
var (
	callsNow   = time.UnixMilli(1_800_000_000_000).UTC()
	callsClaim = call.Claim{PerUser: 2, TTL: time.Hour}
)

func callOf(id, owner string) call.Record {
	return call.Record{
		ID: id, SessionID: "s-" + owner, Owner: owner, Node: "n1", Type: call.Video, Status: call.Pending, Voice: "v",
		Language: "en", Framed: true,
		Fingerprint: "sha-256 AB", Agreement: "key", CreatedAt: callsNow, ExpiresAt: callsNow.Add(time.Hour),
	}
}

func testCallOwner(t *testing.T, s CallStore) {
	t.Helper()
	must(t, s.CreateCall(t.Context(), callOf("a", "alice"), callsClaim))
	got, err := s.Call(t.Context(), "alice", "a")
	must(t, err)
	if diff := cmp.Diff(callOf("a", "alice"), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := s.Call(t.Context(), "bob", "a"); !errors.Is(err, call.ErrNotFound) {
		t.Errorf("another's call: %v", err)
	}
	if _, _, err := s.AdvanceCall(t.Context(), "bob", "a", call.Ended, call.Hangup, callsNow); !errors.Is(err,
		call.ErrNotFound) {
		t.Errorf("ending another's call: %v", err)
	}
	if _, err := s.Calls(t.Context(), "bob", "s-alice", 10); !errors.Is(err, oracle.ErrSessionNotFound) {
		t.Errorf("another's calls: %v", err)
	}
	if open, err := s.OpenCalls(t.Context(), "alice", 10); err != nil || len(open) != 1 || open[0].ID != "a" {
		t.Errorf("open calls: %+v, %v", open, err)
	}
	if open, err := s.OpenCalls(t.Context(), "bob", 10); err != nil || len(open) != 0 {
		t.Errorf("another's open calls: %+v, %v", open, err)
	}
	foreign := callOf("b", "bob")
	foreign.SessionID = "s-alice"
	if err := s.CreateCall(t.Context(), foreign, callsClaim); !errors.Is(err, oracle.ErrSessionNotFound) {
		t.Errorf("a call in another's session: %v", err)
	}
}

func testCallStates(t *testing.T, s CallStore) {
	t.Helper()
	must(t, s.CreateCall(t.Context(), callOf("a", "alice"), callsClaim))
	step := func(to call.Status, why call.Reason, at time.Time) (call.Record, bool, error) {
		return s.AdvanceCall(t.Context(), "alice", "a", to, why, at)
	}
	r, changed, err := step(call.Active, "", callsNow.Add(time.Second))
	if err != nil || !changed || r.Status != call.Active || !r.StartedAt.Equal(callsNow.Add(time.Second)) {
		t.Errorf("%+v %v %v", r, changed, err)
	}
	if r, changed, err = step(call.Active, "", callsNow.Add(time.Minute)); err != nil || changed ||
		!r.StartedAt.Equal(callsNow.Add(time.Second)) {
		t.Errorf("again: %+v %v %v", r, changed, err)
	}
	if _, _, err = step(call.Pending, "", callsNow); !errors.Is(err, call.ErrBackwards) {
		t.Errorf("back: %v", err)
	}
	if r, changed, err = step(call.Ended, call.Hangup, callsNow.Add(2*time.Second)); err != nil || !changed ||
		r.Reason != call.Hangup || !r.EndedAt.Equal(callsNow.Add(2*time.Second)) {
		t.Errorf("%+v %v %v", r, changed, err)
	}
	if r, changed, err = step(call.Ended, call.Timeout, callsNow.Add(time.Hour)); err != nil || changed ||
		r.Reason != call.Hangup {
		t.Errorf("ended again: %+v %v %v", r, changed, err)
	}
	if _, _, err = step(call.Active, "", callsNow); !errors.Is(err, call.ErrBackwards) {
		t.Errorf("alive again: %v", err)
	}
	if open, err := s.OpenCalls(t.Context(), "alice", 10); err != nil || len(open) != 0 {
		t.Errorf("a call that has ended is open: %+v, %v", open, err)
	}
	if err := s.ExtendCall(t.Context(), "n1", "a", callsNow); !errors.Is(err, call.ErrEnded) {
		t.Errorf("extending an ended call: %v", err)
	}
}

func testCallLimit(t *testing.T, s CallStore) {
	t.Helper()
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() { errs[i] = s.CreateCall(t.Context(), callOf(string(rune('a'+i)), "alice"), callsClaim) })
	}
	wg.Wait()
	made := 0
	for _, err := range errs {
		switch {
		case err == nil:
			made++
		case !errors.Is(err, call.ErrTooMany):
			t.Errorf("refused with %v", err)
		}
	}
	list, err := s.Calls(t.Context(), "alice", "s-alice", 10)
	if err != nil || made != callsClaim.PerUser || len(list) != made {
		t.Errorf("%d made, %d listed, %v", made, len(list), err)
	}
	must(t, s.CreateCall(t.Context(), callOf("z", "bob"), callsClaim))
	_, _, err = s.AdvanceCall(t.Context(), "alice", list[0].ID, call.Ended, call.Hangup, callsNow)
	must(t, err)
	must(t, s.CreateCall(t.Context(), callOf("y", "alice"), callsClaim))
}

func testCallSweep(t *testing.T, s CallStore) {
	t.Helper()
	short := call.Claim{PerUser: 9, TTL: time.Millisecond}
	dead, alive := callOf("dead", "alice"), callOf("alive", "alice")
	alive.Node = "n2"
	must(t, s.CreateCall(t.Context(), dead, short))
	must(t, s.CreateCall(t.Context(), alive, short))
	must(t, s.RenewCalls(t.Context(), "n2", time.Hour))
	held, err := s.HeldCalls(t.Context(), "n2")
	if diff := cmp.Diff([]string{"alive"}, held); diff != "" || err != nil {
		t.Errorf("held %v %s", err, diff)
	}
	var gone []call.Record
	for deadline := time.Now().Add(10 * time.Second); len(gone) == 0 && time.Now().Before(deadline); {
		gone, err = s.SweepCalls(t.Context(), callsNow, 10)
		must(t, err)
	}
	if len(gone) != 1 || gone[0].ID != "dead" || gone[0].Status != call.Ended || gone[0].Reason != call.Interrupted {
		t.Errorf("swept %+v", gone)
	}
	if gone, err = s.SweepCalls(t.Context(), callsNow, 10); err != nil || len(gone) != 0 {
		t.Errorf("swept again: %+v, %v", gone, err)
	}
	if held, err = s.HeldCalls(t.Context(), "n1"); err != nil || len(held) != 0 {
		t.Errorf("the dead node holds %v, %v", held, err)
	}
	must(t, s.ExtendCall(t.Context(), "n2", "alive", callsNow.Add(2*time.Hour)))
	if err := s.ExtendCall(t.Context(), "n1", "alive", callsNow); !errors.Is(err, call.ErrEnded) {
		t.Errorf("another node extends it: %v", err)
	}
}

func testCallRecordings(t *testing.T, s CallStore) {
	t.Helper()
	for id, why := range map[string]call.Reason{
		"plain": call.Hangup, "on": call.Hangup, "lost": call.Interrupted,
		"talking": "",
	} {
		r := callOf(id, "alice")
		if id != "plain" {
			r.Recording = call.Recording{State: call.RecordingOn, Path: "/recordings/" + id, Ref: "u-" + id}
		}
		must(t, s.CreateCall(t.Context(), r, call.Claim{PerUser: 9, TTL: time.Hour}))
		if why == "" {
			continue
		}
		_, _, err := s.AdvanceCall(t.Context(), "alice", id, call.Ended, why, callsNow)
		must(t, err)
	}
	ids := func(due call.Due, while time.Duration) (out []string) {
		list, err := s.ClaimRecordings(t.Context(), due, while, 10)
		must(t, err)
		for _, r := range list {
			out = append(out, r.ID+" "+r.Recording.Path+" "+r.Recording.Ref)
		}
		return out
	}
	want, lost := []string{"on /recordings/on u-on"}, []string{"lost /recordings/lost u-lost"}
	early := callsNow.Add(-time.Second)
	for _, c := range []struct {
		why   string
		due   call.Due
		while time.Duration
		want  []string
	}{
		{"its node has the first say", call.Due{Ended: early, Lost: early}, time.Hour, nil},
		{"a node that lost its call has a shorter one", call.Due{Ended: early, Lost: callsNow}, time.Hour, lost},
		{"it is due", call.Due{Ended: callsNow, Lost: early}, 0, want},
		{"it was claimed for no time", call.Due{Ended: callsNow, Lost: callsNow}, time.Hour, want},
		{"somebody is at it", call.Due{Ended: callsNow, Lost: callsNow}, time.Hour, nil},
	} {
		if diff := cmp.Diff(c.want, ids(c.due, c.while)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.why, diff)
		}
	}
	must(t, s.SetRecording(t.Context(), "on", call.RecordingSaved))
	must(t, s.SetRecording(t.Context(), "on", call.RecordingFailed)) // too late
	if r, err := s.Call(t.Context(), "alice", "on"); err != nil || r.Recording.State != call.RecordingSaved {
		t.Errorf("%+v %v", r.Recording, err)
	}
}

func testCallSession(t *testing.T, s CallStore) {
	t.Helper()
	must(t, s.CreateCall(t.Context(), callOf("a", "alice"), callsClaim))
	_, err := s.DeleteSession(t.Context(), "alice", "s-alice")
	must(t, err)
	if _, err := s.Call(t.Context(), "alice", "a"); !errors.Is(err, call.ErrNotFound) {
		t.Errorf("the call is still there: %v", err)
	}
}
