package ussdquestion

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// The answer worker's pace.
const (
	answerTime  = 2 * time.Minute
	answerTries = 3
	answerBatch = 4
	answerPoll  = 5 * time.Second
)

// Store keeps promised questions: see ussd.Store.
type Store interface {
	TakeQuestions(ctx context.Context, d time.Duration, limit int) ([]Question, error)
	SettleQuestion(ctx context.Context, id, answer string, state State, now time.Time) error
}

// Asker asks the oracle for telephones.
type Asker struct {
	oracle Oracle
	store  Store
	log    *slog.Logger
	now    func() time.Time
	wake   chan struct{} // tells the worker of a new question
}

// NewAsker returns an Asker; without an oracle it answers nothing.
func NewAsker(o Oracle, s Store, log *slog.Logger, now func() time.Time) *Asker {
	return &Asker{oracle: o, store: s, log: log, now: now, wake: make(chan struct{}, 1)}
}

// Ask asks the oracle without trusting it to look at the context.
func (a *Asker) Ask(ctx context.Context, q Question) (string, error) {
	type result struct {
		text string
		err  error
	}
	got := make(chan result, 1)
	go func() {
		text, err := a.oracle.Ask(ctx, q)
		got <- result{text, err}
	}()
	select {
	case r := <-got:
		if r.err != nil {
			return "", fmt.Errorf("ask the oracle: %w", r.err)
		}
		text := Shorten(r.text)
		if text == "" {
			return "", errors.New("the oracle answered nothing")
		}
		return text, nil
	case <-ctx.Done():
		return "", fmt.Errorf("ask the oracle: %w", ctx.Err())
	}
}

// Nudge tells the worker that a question was promised.
func (a *Asker) Nudge() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// Run asks the oracle the promised questions until ctx ends. Any number of nodes
// may run it: a question is reserved before it is asked.
func (a *Asker) Run(ctx context.Context) error {
	if a.oracle == nil {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(answerPoll)
	defer tick.Stop()
	for {
		if err := a.answerSome(ctx); err != nil && ctx.Err() == nil {
			a.log.WarnContext(ctx, "telephone questions not answered", slog.String("event", "ussd.answers_failed"), slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-a.wake:
		}
	}
}

func (a *Asker) answerSome(ctx context.Context) error {
	taken, err := a.store.TakeQuestions(ctx, answerTime+10*time.Second, answerBatch)
	if err != nil {
		return fmt.Errorf("take questions: %w", err)
	}
	// Side by side: all are reserved from now on.
	errs := make([]error, len(taken))
	var asking sync.WaitGroup
	for i, q := range taken {
		asking.Go(func() { errs[i] = a.settle(ctx, q) })
	}
	asking.Wait()
	return errors.Join(errs...)
}

func (a *Asker) settle(ctx context.Context, q Question) error {
	wait, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	answer, err := a.Ask(wait, q)
	state := Answered
	if asks, ok := errors.AsType[*ApprovalError](err); ok {
		answer, state, err = asks.Shown(), Undecided, nil
	}
	if err != nil {
		if ctx.Err() != nil || q.Tries < answerTries {
			return err // its reservation runs out, and it is tried again
		}
		state = GivenUp
	}
	if err := a.store.SettleQuestion(ctx, q.ID, answer, state, a.now()); err != nil {
		return fmt.Errorf("store answer: %w", err)
	}
	return nil
}
