package ussdquestion

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// asked is a store with some questions, each to be had once.
type asked struct {
	open    []Question
	held    atomic.Int64
	settled atomic.Int32
	last    atomic.Value
}

func (a *asked) TakeQuestions(_ context.Context, d time.Duration, limit int) ([]Question, error) {
	n := min(limit, len(a.open))
	taken := a.open[:n]
	a.open = a.open[n:]
	a.held.Store(int64(d))
	return taken, nil
}

func (a *asked) SettleQuestion(_ context.Context, _, answer string, state State, _ time.Time) error {
	a.last.Store(fmt.Sprint(state, " ", answer))
	a.settled.Add(1)
	return nil
}

// slowOracle answers everything, in its own time.
type slowOracle time.Duration

func (o slowOracle) Ask(context.Context, Question) (string, error) {
	<-time.After(time.Duration(o))
	return "Because.", nil
}

// Questions that were reserved together are asked together: the last of them
// would otherwise begin when its reservation is over, and be asked twice.
func TestQuestionsAreAskedWithinTheirReservation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &asked{}
		for i := range 4 {
			store.open = append(store.open, Question{ID: fmt.Sprint(i), Text: "Why?"})
		}
		run(t, slowOracle(answerTime-time.Second), store, func() { <-time.After(time.Duration(store.held.Load())) })
		if n := store.settled.Load(); n != 4 {
			t.Errorf("%d of 4 questions were answered when their reservation ended", n)
		}
	})
}

// careful does nothing without approval.
type careful struct{}

func (careful) Ask(context.Context, Question) (string, error) {
	return "", &ApprovalError{ID: "1", Text: "Send it?"}
}

// A promised question that needs its asker's approval waits for the asker.
func TestAPromisedQuestionMayNeedApproval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &asked{open: []Question{{ID: "1", Text: "Send it"}}}
		run(t, careful{}, store, func() {})
		if got := store.last.Load(); got != fmt.Sprint(Undecided, " Send it?") {
			t.Errorf("it was settled as %v", got)
		}
	})
}

// run lets the worker work, and ends it after wait.
func run(t *testing.T, o Oracle, store Store, wait func()) {
	t.Helper()
	a := NewAsker(o, store, slog.New(slog.DiscardHandler), time.Now)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	synctest.Wait()
	wait()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
