package ussd

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
)

// asked is a store with some questions, each to be had once.
type asked struct {
	Store
	open    []Question
	held    atomic.Int64
	settled atomic.Int32
}

func (a *asked) TakeQuestions(_ context.Context, d time.Duration, limit int) ([]Question, error) {
	n := min(limit, len(a.open))
	taken := a.open[:n]
	a.open = a.open[n:]
	a.held.Store(int64(d))
	return taken, nil
}

func (a *asked) SettleQuestion(context.Context, string, string, QuestionState, time.Time) error {
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
		keys, err := ussdpin.NewKeys(bytes.Repeat([]byte{7}, 32))
		if err != nil {
			t.Fatal(err)
		}
		svc, err := New(store, Config{Keys: keys, Oracle: slowOracle(answerTime - time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- svc.AnswerQuestions(ctx) }()
		synctest.Wait()
		<-time.After(time.Duration(store.held.Load()))
		if n := store.settled.Load(); n != 4 {
			t.Errorf("%d of 4 questions were answered when their reservation ended", n)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
