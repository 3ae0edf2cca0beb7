package ussd

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdquestion"
)

// approvalVar names, among a session's variables, the approval that the answer just
// read out asks for. It is no variable of menus: it goes where the answer goes, so
// that a session that is continued later still knows what was shown.
const approvalVar = "approval"

// AnswerQuestions asks the oracle the promised questions until ctx ends.
func (s *Service) AnswerQuestions(ctx context.Context) error { return s.asker.Run(ctx) }

// askOracle asks and waits a little. What is not answered by then is stored and
// promised; a worker asks again, on any node, and the answer waits for the next
// login. Whoever asks on instead of approving has changed their mind.
func (h *hop) askOracle(ctx context.Context) (string, map[string]string, error) {
	if h.svc.cfg.Oracle == nil || h.next.Account == "" {
		return "failed", nil, nil
	}
	switch q, err := h.svc.store.Waiting(ctx, h.next.Account); {
	case err == nil && q.State == ussdquestion.Asked:
		return "busy", nil, nil
	case err == nil && q.State == ussdquestion.Undecided:
		h.effects = append(h.effects, MarkRead{Question: q.ID})
		h.next.Memory.Facts &^= ussdmenu.AnswerWaiting
	case err != nil && !errors.Is(err, ErrNoSession):
		return "", nil, fmt.Errorf("look for questions: %w", err)
	}
	text := h.next.State.Vars["question"]
	// The hop's own name: a gateway that sends it again asks nothing twice.
	name := h.svc.cfg.Keys.Digest("question", h.id, fmt.Sprint(h.next.Rev, "/", h.next.Hop), text)
	return h.hear(ctx, ussdquestion.Question{
		ID: hex.EncodeToString(name), Account: h.next.Account, Phone: h.req.Phone, Language: h.next.State.Lang, Text: text,
		Created: h.now,
	})
}

// hear waits a little for the answer to a question, and keeps the question with what
// became of it: answered, put back to the caller for approval, or promised.
func (h *hop) hear(ctx context.Context, q ussdquestion.Question) (string, map[string]string, error) {
	if err := h.claim(ctx, h.svc.cfg.OracleWait+claimTime); err != nil {
		return "", nil, err
	}
	h.ask("")
	wait, cancel := context.WithTimeout(ctx, h.svc.cfg.OracleWait)
	defer cancel()
	answer, err := h.svc.asker.Ask(wait, q)
	asks, undecided := errors.AsType[*ussdquestion.ApprovalError](err)
	enough, refused := errors.AsType[*ussdquestion.EnoughError](err)
	switch {
	case err == nil:
		q.State, q.Answer = ussdquestion.ReadOut, answer
		h.next.Memory.Facts &^= ussdmenu.AnswerWaiting
	case undecided:
		q.State, q.Answer = ussdquestion.Undecided, asks.Shown()
		if h.svc.cfg.Approvals != nil {
			h.ask(asks.ID)
		}
		h.next.Memory.Facts |= ussdmenu.AnswerWaiting
	case ctx.Err() != nil:
		return "", nil, fmt.Errorf("ask the oracle: %w", ctx.Err())
	case refused:
		return "ok", map[string]string{"answer": enough.Text(h.next.State.Lang)}, nil
	case wait.Err() == nil:
		h.svc.cfg.Logger.WarnContext(ctx, "oracle did not answer a telephone", slog.String("event", "ussd.oracle_failed"), slog.Any("error", err))
		return "failed", nil, nil
	default:
		h.promise(q)
		return "promised", nil, nil
	}
	h.effects = append(h.effects, KeepQuestion{Question: q})
	return "ok", map[string]string{"answer": q.Answer}, nil
}

// ask notes which approval the caller is asked for; "" is none.
func (h *hop) ask(approval string) {
	if h.next.State.Vars[approvalVar] == approval {
		return
	}
	vars := maps.Clone(h.next.State.Vars) // sessions share them
	if vars == nil {
		vars = map[string]string{}
	}
	vars[approvalVar] = approval
	h.next.State.Vars = vars
}

// promise leaves a question to the worker.
func (h *hop) promise(q ussdquestion.Question) {
	q.State, q.Answer = ussdquestion.Asked, ""
	h.effects = append(h.effects, KeepQuestion{Question: q})
	h.next.Memory.Facts &^= ussdmenu.AnswerWaiting
	h.svc.asker.Nudge()
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
	case ussdquestion.Asked:
		return "pending", nil, nil
	case ussdquestion.Undecided:
		return h.takeUndecided(ctx, q)
	case ussdquestion.GivenUp:
		h.effects = append(h.effects, MarkRead{Question: q.ID})
		h.next.Memory.Facts &^= ussdmenu.AnswerWaiting
		return "none", nil, nil
	case ussdquestion.Answered, ussdquestion.ReadOut:
	}
	h.ask("")
	h.effects = append(h.effects, MarkRead{Question: q.ID})
	h.next.Memory.Facts &^= ussdmenu.AnswerWaiting
	return "ok", map[string]string{"answer": q.Answer}, nil
}

// takeUndecided asks again what a question waits for: it may be answered elsewhere by
// now, or its time may be over.
func (h *hop) takeUndecided(ctx context.Context, q ussdquestion.Question) (string, map[string]string, error) {
	if h.svc.cfg.Oracle == nil {
		return "pending", nil, nil
	}
	outcome, set, err := h.hear(ctx, q)
	switch outcome {
	case "failed":
		h.promise(q)
		return "pending", nil, err
	case "promised":
		return "pending", nil, err
	}
	return outcome, set, err
}

// decide takes the caller's word on what was just read out, and waits a little for
// what follows. The word is durable before anything else happens: said twice it
// counts once.
func (h *hop) decide(ctx context.Context) (string, map[string]string, error) {
	approval := h.next.State.Vars[approvalVar]
	if h.svc.cfg.Oracle == nil || h.svc.cfg.Approvals == nil || h.next.Account == "" {
		return "failed", nil, nil
	}
	q, err := h.svc.store.Waiting(ctx, h.next.Account)
	switch {
	case errors.Is(err, ErrNoSession), err == nil && q.State != ussdquestion.Undecided, approval == "":
		h.ask("")
		return "over", nil, nil
	case err != nil:
		return "", nil, fmt.Errorf("look for questions: %w", err)
	}
	if err := h.claim(ctx, h.svc.cfg.OracleWait+claimTime); err != nil {
		return "", nil, err
	}
	err = h.svc.cfg.Approvals.Decide(ctx, q, approval, h.next.State.Vars["decision"] == "yes")
	switch {
	case fault.Is(err, fault.Gone), fault.Is(err, fault.Conflict), fault.Is(err, fault.NotFound):
		h.ask("")
		return "over", nil, nil
	case err != nil:
		h.svc.cfg.Logger.WarnContext(ctx, "a telephone's decision was not taken", slog.String("event", "ussd.decision_failed"), slog.Any("error", err))
		return "failed", nil, nil
	}
	return h.hear(ctx, q)
}
