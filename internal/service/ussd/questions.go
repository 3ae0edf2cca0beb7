package ussd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

// maxAnswer bounds an answer, in characters: about eight screens.
const maxAnswer = 1200

// askOracle asks and waits a little. What is not answered by then is stored and
// promised; a worker asks again, on any node, and the answer waits for the next
// login.
func (h *hop) askOracle(ctx context.Context) (string, map[string]string, error) {
	if h.svc.cfg.Oracle == nil || h.next.Account == "" {
		return "failed", nil, nil
	}
	switch q, err := h.svc.store.Waiting(ctx, h.next.Account); {
	case err == nil && q.State == Asked:
		return "busy", nil, nil
	case err != nil && !errors.Is(err, ErrNoSession):
		return "", nil, fmt.Errorf("look for questions: %w", err)
	}
	if err := h.claim(ctx, h.svc.cfg.OracleWait+claimTime); err != nil {
		return "", nil, err
	}
	q := Question{
		ID: rand.Text(), Account: h.next.Account, Phone: h.req.Phone, Language: h.next.State.Lang,
		Text: h.next.State.Vars["question"], Created: h.now,
	}
	wait, cancel := context.WithTimeout(ctx, h.svc.cfg.OracleWait)
	defer cancel()
	answer, err := h.svc.ask(wait, q)
	if err == nil {
		q.State, q.Answer = ReadOut, answer
		h.effects = append(h.effects, AddQuestion{Question: q})
		return "ok", map[string]string{"answer": answer}, nil
	}
	if ctx.Err() != nil {
		return "", nil, fmt.Errorf("ask the oracle: %w", ctx.Err())
	}
	if enough, ok := errors.AsType[*EnoughError](err); ok {
		return "ok", map[string]string{"answer": enough.text(h.next.State.Lang)}, nil
	}
	if wait.Err() == nil {
		h.svc.cfg.Logger.WarnContext(ctx, "oracle did not answer a telephone", slog.Any("error", err))
		return "failed", nil, nil
	}
	h.effects = append(h.effects, AddQuestion{Question: q})
	h.svc.nudge()
	return "promised", nil, nil
}

// ask asks the oracle without trusting it to look at the context.
func (s *Service) ask(ctx context.Context, q Question) (string, error) {
	type result struct {
		text string
		err  error
	}
	got := make(chan result, 1)
	go func() {
		text, err := s.cfg.Oracle.Ask(ctx, q)
		got <- result{text, err}
	}()
	select {
	case r := <-got:
		if r.err != nil {
			return "", fmt.Errorf("ask the oracle: %w", r.err)
		}
		text := bounded(plain(r.text), maxAnswer)
		if text == "" {
			return "", errors.New("the oracle answered nothing")
		}
		return text, nil
	case <-ctx.Done():
		return "", fmt.Errorf("ask the oracle: %w", ctx.Err())
	}
}

// EnoughError says that a telephone has asked as much as it may today.
type EnoughError struct {
	// Questions is how many it may ask in a day; 0 when something else ran out.
	Questions int64
}

// Error is for logs.
func (e *EnoughError) Error() string { return "the telephone has asked enough today" }

// text is read out in place of an answer, so that it is understood in every menu.
func (e *EnoughError) text(language string) string {
	switch {
	case language == "sw" && e.Questions > 0:
		return fmt.Sprintf("Unaweza kuuliza maswali %d kwa siku. Uliza tena kesho (00:00 UTC).", e.Questions)
	case language == "sw":
		return "Umeuliza vya kutosha leo. Uliza tena kesho (00:00 UTC)."
	case e.Questions > 0:
		return fmt.Sprintf("You may ask %d questions a day. Ask again tomorrow (00:00 UTC).", e.Questions)
	}
	return "You have asked enough for today. Ask again tomorrow (00:00 UTC)."
}

func (s *Service) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (h *hop) takeAnswer(ctx context.Context) (string, map[string]string, error) {
	q, err := h.svc.store.Waiting(ctx, h.next.Account)
	if errors.Is(err, ErrNoSession) {
		h.next.Memory.Facts &^= ussdmenu.AnswerWaiting
		return "none", nil, nil
	}
	if err != nil {
		return "", nil, fmt.Errorf("look for answers: %w", err)
	}
	switch q.State {
	case Asked:
		return "pending", nil, nil
	case GivenUp:
		h.effects = append(h.effects, MarkRead{Question: q.ID})
		h.next.Memory.Facts &^= ussdmenu.AnswerWaiting
		return "none", nil, nil
	case Answered, ReadOut:
	}
	h.effects = append(h.effects, MarkRead{Question: q.ID})
	h.next.Memory.Facts &^= ussdmenu.AnswerWaiting
	return "ok", map[string]string{"answer": q.Answer}, nil
}

// The answer worker's pace.
const (
	answerTime  = 2 * time.Minute
	answerTries = 3
	answerBatch = 4
	answerPoll  = 5 * time.Second
)

// AnswerQuestions asks the oracle the promised questions until ctx ends. Any
// number of nodes may run it: a question is reserved before it is asked.
func (s *Service) AnswerQuestions(ctx context.Context) error {
	if s.cfg.Oracle == nil {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(answerPoll)
	defer tick.Stop()
	for {
		if err := s.answerSome(ctx); err != nil && ctx.Err() == nil {
			s.cfg.Logger.WarnContext(ctx, "telephone questions not answered", slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-s.wake:
		}
	}
}

func (s *Service) answerSome(ctx context.Context) error {
	taken, err := s.store.TakeQuestions(ctx, answerTime+10*time.Second, answerBatch)
	if err != nil {
		return fmt.Errorf("take questions: %w", err)
	}
	// Side by side: all are reserved from now on.
	errs := make([]error, len(taken))
	var asking sync.WaitGroup
	for i, q := range taken {
		asking.Go(func() { errs[i] = s.settle(ctx, q) })
	}
	asking.Wait()
	return errors.Join(errs...)
}

func (s *Service) settle(ctx context.Context, q Question) error {
	wait, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	answer, err := s.ask(wait, q)
	state := Answered
	if err != nil {
		if ctx.Err() != nil || q.Tries < answerTries {
			return err // its reservation runs out, and it is tried again
		}
		state = GivenUp
	}
	if err := s.store.SettleQuestion(ctx, q.ID, answer, state, s.cfg.Now()); err != nil {
		return fmt.Errorf("store answer: %w", err)
	}
	return nil
}
