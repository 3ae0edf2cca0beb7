package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/platform/bus/busmem"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// worker is a Worker made of functions.
type worker struct {
	work func(ctx context.Context, job run.Job) run.Result
}

func (w worker) Work(ctx context.Context, job run.Job) run.Result { return w.work(ctx, job) }

func (worker) GiveUp(context.Context, oracle.Run, []oracle.Frame) run.Result {
	return run.Result{Status: oracle.Interrupted, Text: "kept"}
}

// say emits a piece of text.
func say(job run.Job, text string) {
	_ = job.Log.Emit(oracle.FrameMessage, oracle.MessageFrame{Content: text})
}

func answered(texts ...string) run.Result {
	r := run.Result{Status: oracle.Finished}
	for _, t := range texts {
		r.Messages = append(r.Messages,
			oracle.Message{ID: oracle.NewID(), Role: oracle.AI, Content: t, CreatedAt: time.Now()})
		r.Text += t
	}
	return r
}

// echo answers "ok" to everything.
var echo = worker{work: func(_ context.Context, job run.Job) run.Result {
	say(job, "o")
	say(job, "k")
	return answered("ok")
}}

// node starts an engine.
func node(t testing.TB, st run.Store, b bus.Bus, w run.Worker) (e *run.Engine, stop func()) {
	t.Helper()
	return patientNode(t, st, b, w, 0)
}

// patientNode is a node that gives a run up after so many attempts.
func patientNode(t testing.TB, st run.Store, b bus.Bus, w run.Worker, attempts int) (e *run.Engine, stop func()) {
	t.Helper()
	e = run.New(st, b, w, run.Config{
		LeaseTTL: 500 * time.Millisecond, Drain: 10 * time.Millisecond, MaxAttempts: attempts,
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return e, stop
}

func memory(t testing.TB) bus.Bus {
	t.Helper()
	b := busmem.New()
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func start(t testing.TB, e *run.Engine, session, text string, how oracle.Multitask) run.Started {
	t.Helper()
	s, err := e.Start(t.Context(), run.Start{
		Owner: oracletest.Owner, SessionID: session, RequestID: oracle.NewID(), Multitask: how,
		Request: oracle.TurnRequest{Message: text},
	})
	must(t, err)
	t.Cleanup(s.Reader.Close)
	return s
}

// read follows a run to its end.
func read(t testing.TB, r *run.Reader) []oracle.Frame {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out []oracle.Frame
	for {
		frames, err := r.Next(ctx, time.Minute)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("after %v: %v", oracletest.Events(out), err)
		}
		out = append(out, frames...)
	}
}

func last(t testing.TB, frames []oracle.Frame) oracle.DoneFrame {
	t.Helper()
	var d oracle.DoneFrame
	if len(frames) == 0 || !frames[len(frames)-1].Ends() {
		t.Fatalf("no end: %v", oracletest.Events(frames))
	}
	must(t, json.Unmarshal(frames[len(frames)-1].Data, &d))
	return d
}

func each(t *testing.T, body func(t *testing.T, st *oraclesql.Store)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		body(t, oraclesql.New(oracletest.Migrated(t, open(t))))
	})
}

func TestRunIsReadWholeByEveryReader(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, st *oraclesql.Store) {
		hints := memory(t)
		const words = 1500 // more than a ring
		a, _ := node(t, st, hints, worker{work: func(_ context.Context, job run.Job) run.Result {
			for i := range words {
				say(job, fmt.Sprint(i))
			}
			return answered("counted")
		}})
		b, _ := node(t, st, hints, echo)
		s := oracletest.NewSession(t, st)
		started := start(t, a, s.ID, "count", "")
		var all sync.WaitGroup
		results := make([][]oracle.Frame, 6)
		for i := range results {
			from := []*run.Engine{a, b}[i%2]
			r, err := from.Follow(t.Context(), oracletest.Owner, started.Run.ID, 0)
			must(t, err)
			all.Go(func() {
				defer r.Close()
				results[i] = read(t, r)
			})
		}
		first := read(t, started.Reader)
		all.Wait()
		if len(first) != words+3 {
			t.Fatalf("%d frames, want %d", len(first), words+3)
		}
		for i, got := range results {
			if d := cmp.Diff(first, got); d != "" {
				t.Errorf("reader %d differs: %s", i, d)
			}
		}
		for _, after := range []int64{0, 1, 700, words + 2, words + 3} {
			r, err := b.Follow(t.Context(), oracletest.Owner, started.Run.ID, after)
			must(t, err)
			if d := cmp.Diff(first[after:], append([]oracle.Frame{}, read(t, r)...)); d != "" && after < words+3 {
				t.Errorf("after %d: %s", after, d)
			}
			r.Close()
		}
	})
}

func TestTakeover(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, st *oraclesql.Store) {
		hints := memory(t)
		stuck := make(chan struct{})
		a, stopA := node(t, st, hints, worker{work: func(ctx context.Context, job run.Job) run.Result {
			say(job, "half")
			_ = job.Log.Checkpoint(map[string]string{"said": "half"})
			_ = job.Log.Flush(ctx)
			close(stuck)
			<-ctx.Done()
			return run.Result{Status: oracle.Finished, Text: "never stored"}
		}})
		b, _ := node(t, st, hints, worker{work: func(_ context.Context, job run.Job) run.Result {
			if job.Run.Attempt != 2 || string(job.Run.Checkpoint) != `{"said":"half"}` {
				t.Errorf("taken over: %+v", job.Run)
			}
			_ = job.Log.Emit(oracle.FrameRun, oracle.RunFrame{RunID: job.Run.ID, Resumed: true, Attempt: 2})
			say(job, "whole")
			return answered("half", "whole")
		}})
		s := oracletest.NewSession(t, st)
		started := start(t, a, s.ID, "go", "")
		r, err := b.Follow(t.Context(), oracletest.Owner, started.Run.ID, 0)
		must(t, err)
		defer r.Close()
		<-stuck
		stopA() // gives the run back without ending it
		frames := read(t, r)
		if d := cmp.Diff([]string{"run", "reasoning", "message", "run", "message", "done"}, oracletest.Events(frames)); d != "" {
			t.Error(d)
		}
		if frames[3].Seq != 1<<oracle.AttemptShift {
			t.Errorf("the second attempt begins at %d", frames[3].Seq)
		}
		list, err := st.Messages(t.Context(), oracletest.Owner, s.ID, 0)
		if err != nil || len(list) != 3 {
			t.Errorf("transcript: %v %v", list, err)
		}
	})
}

func TestGivesUpAfterTooManyAttempts(t *testing.T) {
	t.Parallel()
	st := oraclesql.New(oracletest.Migrated(t, sqldbtest.SQLite(t)))
	s := oracletest.NewSession(t, st)
	begun := oracletest.Say(t, st, s.ID, "go", "")
	for range 3 { // nodes that die at once
		_, err := st.Renew(t.Context(), []run.Held{{RunID: begun.Run.ID, Epoch: begun.Run.Epoch}}, 0)
		must(t, err)
		if begun.Run, err = st.Claim(t.Context(), begun.Run.ID, "dead", 0); err != nil {
			t.Fatal(err)
		}
	}
	e, _ := node(t, st, memory(t), echo)
	r, err := e.Follow(t.Context(), oracletest.Owner, begun.Run.ID, 0)
	must(t, err)
	defer r.Close()
	if d := last(t, read(t, r)); !d.Interrupted || d.PartialText != "kept" {
		t.Errorf("done: %+v", d)
	}
}

func TestOneRunAtATime(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, st *oraclesql.Store) {
		hints := memory(t)
		var mu sync.Mutex
		busy := 0
		w := worker{work: func(ctx context.Context, job run.Job) run.Result {
			mu.Lock()
			busy++
			if busy > 1 {
				t.Error("two runs work in one session")
			}
			mu.Unlock()
			defer func() { mu.Lock(); busy--; mu.Unlock() }()
			say(job, job.Run.Request.Message)
			if job.Run.Request.Message == "slow" {
				<-ctx.Done()
				if !run.IsAbort(context.Cause(ctx)) {
					t.Errorf("cause: %v", context.Cause(ctx))
				}
				return run.Result{Status: oracle.Aborted, Text: "slow"}
			}
			return answered(job.Run.Request.Message)
		}}
		a, _ := node(t, st, hints, w)
		b, _ := node(t, st, hints, w)
		s := oracletest.NewSession(t, st)
		slow := start(t, a, s.ID, "slow", "")
		if _, err := b.Start(t.Context(), run.Start{
			Owner: oracletest.Owner, SessionID: s.ID, RequestID: "x",
			Multitask: oracle.Reject,
		}); !fault.Is(err, fault.Conflict) {
			t.Errorf("reject: %v", err)
		}
		waits := start(t, b, s.ID, "waits", oracle.Enqueue)
		wins := start(t, b, s.ID, "wins", oracle.Interrupt)
		after := start(t, a, s.ID, "after", oracle.Enqueue)
		if d := last(t, read(t, slow.Reader)); !d.Aborted || d.PartialText != "slow" {
			t.Errorf("slow: %+v", d)
		}
		if d := last(t, read(t, waits.Reader)); !d.Aborted {
			t.Errorf("waits: %+v", d)
		}
		for _, s := range []run.Started{wins, after} {
			if d := last(t, read(t, s.Reader)); d.Status != oracle.Finished {
				t.Errorf("%s: %+v", s.Run.Request.Message, d)
			}
		}
	})
}

func TestAbortFromAnotherNode(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, st *oraclesql.Store) {
		hints := memory(t)
		a, _ := node(t, st, hints, worker{work: func(ctx context.Context, job run.Job) run.Result {
			say(job, "so far")
			<-ctx.Done()
			return run.Result{Status: oracle.Aborted, Text: "so far"}
		}})
		b, _ := node(t, st, hints, echo)
		s := oracletest.NewSession(t, st)
		started := start(t, a, s.ID, "go", "")
		if ok, err := b.Abort(t.Context(), oracletest.Stranger, s.ID); ok || err != nil {
			t.Errorf("a stranger aborted: %v %v", ok, err)
		}
		ok, err := b.Abort(t.Context(), oracletest.Owner, s.ID)
		if !ok || err != nil {
			t.Fatalf("abort: %v %v", ok, err)
		}
		if d := last(t, read(t, started.Reader)); !d.Aborted {
			t.Errorf("done: %+v", d)
		}
	})
}

func TestDeletedSessionEndsItsReaders(t *testing.T) {
	t.Parallel()
	st := oraclesql.New(oracletest.Migrated(t, sqldbtest.SQLite(t)))
	e, _ := node(t, st, memory(t), worker{work: func(ctx context.Context, job run.Job) run.Result {
		say(job, "…")
		<-ctx.Done()
		return run.Result{Status: oracle.Aborted}
	}})
	s := oracletest.NewSession(t, st)
	started := start(t, e, s.ID, "go", "")
	ids, err := st.DeleteSession(t.Context(), oracletest.Owner, s.ID)
	must(t, err)
	e.Gone(t.Context(), ids)
	last(t, read(t, started.Reader))
}

// deaf is a bus that loses every hint.
type deaf struct{ bus.Bus }

func (deaf) Publish(context.Context, string, []byte) error { return nil }

func TestWithoutHintsReadersReconcile(t *testing.T) {
	t.Parallel()
	st := oraclesql.New(oracletest.Migrated(t, sqldbtest.SQLite(t)))
	hints := deaf{memory(t)}
	release := make(chan struct{})
	a, _ := node(t, st, hints, worker{work: func(_ context.Context, job run.Job) run.Result {
		say(job, "first")
		<-release
		say(job, "second")
		return answered("done")
	}})
	b, _ := node(t, st, hints, echo)
	s := oracletest.NewSession(t, st)
	started := start(t, a, s.ID, "go", "")
	r, err := b.Follow(t.Context(), oracletest.Owner, started.Run.ID, 0)
	must(t, err)
	defer r.Close()
	close(release)
	if d := last(t, read(t, r)); d.Status != oracle.Finished {
		t.Errorf("done: %+v", d)
	}
	// An abort is heard without hints as well.
	s2 := oracletest.NewSession(t, st)
	c, _ := node(t, st, hints, worker{work: func(ctx context.Context, _ run.Job) run.Result {
		<-ctx.Done()
		return run.Result{Status: oracle.Aborted}
	}})
	stuck := start(t, c, s2.ID, "go", "")
	_, err = b.Abort(t.Context(), oracletest.Owner, s2.ID)
	must(t, err)
	last(t, read(t, stuck.Reader))
}

func TestPanicEndsTheRun(t *testing.T) {
	t.Parallel()
	st := oraclesql.New(oracletest.Migrated(t, sqldbtest.SQLite(t)))
	e, _ := node(t, st, memory(t), worker{work: func(context.Context, run.Job) run.Result { panic("oops") }})
	started := start(t, e, oracletest.NewSession(t, st).ID, "go", "")
	if d := last(t, read(t, started.Reader)); !d.Failed {
		t.Errorf("done: %+v", d)
	}
}
