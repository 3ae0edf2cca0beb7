package turn

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/castalia-org/castalia/internal/identity/appkey"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/plugin"
)

// costLimited reports whether what the run costs is counted.
func (w *Worker) costLimited(r oracle.Run) bool {
	return w.deps.Ledger != nil && w.deps.Config.Measures.Of(r.Sponsor()).CostMicros > 0
}

// budgeted reports whether the run takes the budget of an app key.
func (w *Worker) budgeted(r oracle.Run) bool { return w.deps.Budgets != nil && r.Request.AppKey != "" }

// usualAnswer is how many tokens are set aside for an answer whose length nobody
// bounds.
const usualAnswer = 4096

// estimate is what a model call may take of an app key's budget.
func (w *Worker) estimate(req plugin.ModelRequest) appkey.Amount {
	offered := model.Find(w.deps.Provider, req.Model)
	u := plugin.Usage{
		InputTokens:  int64(model.RequestTokens(req)),
		OutputTokens: int64(cmp.Or(req.MaxTokens, offered.MaxTokens, usualAnswer)),
	}
	return appkey.Amount{Tokens: u.InputTokens + u.OutputTokens, Micros: offered.Cost(u)}
}

// held is what was set aside for a model call.
type held struct {
	key appkey.Amount // of an app key's budget
	// micros are of the sponsor's day at this time.
	micros int64
	at     time.Time
}

// reserve refuses a model call when the sponsor's day or the app key's budget is
// spent, and sets aside what it may take of them, so that calls side by side do not
// overspend together. The refusal ends the turn with its own text, as that of a plugin does.
func (w *Worker) reserve(ctx context.Context, r oracle.Run, req plugin.ModelRequest) (held, error) {
	h, err := w.reserveDay(ctx, r, req)
	if err != nil || !w.budgeted(r) {
		return h, err
	}
	want := w.estimate(req)
	// A hold whose acknowledgement got lost is held twice: better than given away.
	h.key, err = patiently(ctx, func() (appkey.Amount, error) {
		return w.deps.Budgets.Reserve(ctx, r.Owner, r.Request.AppKey, want)
	})
	if err == nil {
		return h, nil
	}
	w.settleDay(ctx, r, h, 0)
	if fault.Is(err, fault.PaymentRequired) {
		err = refusal(http.StatusPaymentRequired, err)
	}
	return held{}, err
}

// reserveDay sets aside what a model call usually costs of the sponsor's day. Answers that may
// be long do not hold the whole of it: others of the same user, such as sub-agents, go on meanwhile.
func (w *Worker) reserveDay(ctx context.Context, r oracle.Run, req plugin.ModelRequest) (h held, err error) {
	if !w.costLimited(r) {
		return h, nil
	}
	h.at = time.Now()
	measure := oracle.Measure{CostMicros: w.deps.Config.Measures.Of(r.Sponsor()).CostMicros}
	offered := model.Find(w.deps.Provider, req.Model)
	want := offered.Cost(plugin.Usage{
		InputTokens:  int64(model.RequestTokens(req)),
		OutputTokens: int64(min(cmp.Or(req.MaxTokens, offered.MaxTokens, usualAnswer), usualAnswer)),
	})
	_, err = patiently(ctx, func() (spent int64, err error) {
		h.micros, spent, err = w.deps.Ledger.ReserveCost(ctx, r.Sponsor(), measure.CostMicros, want, h.at)
		if err != nil {
			return 0, err
		}
		return spent, measure.Exceeded(0, spent, h.at)
	})
	if err != nil && fault.From(err).Code == oracle.CodeCost {
		err = refusal(http.StatusTooManyRequests, err)
	}
	return h, err
}

// settleDay counts what a call cost of the sponsor's day in place of what was set aside.
func (w *Worker) settleDay(ctx context.Context, r oracle.Run, h held, micros int64) {
	if rest := micros - h.micros; rest != 0 && w.costLimited(r) {
		at := h.at
		if at.IsZero() { // it was not asked for before, such as a title
			at = time.Now()
		}
		w.writeDown(ctx, r, func(ctx context.Context) error {
			return w.deps.Ledger.AddCost(ctx, r.Sponsor(), rest, at)
		})
	}
}

// refusal ends a turn as that of a plugin does, and keeps the code of what it is made of.
func refusal(status int, err error) *plugin.Error {
	return &plugin.Error{Status: status, Message: fault.From(err).Message, Cause: err}
}

// refused finds the refusal of a plugin's model middleware.
func refused(err error) (*plugin.Error, bool) {
	if err == nil {
		return nil, false
	}
	return errors.AsType[*plugin.Error](err)
}

// inWords is a refusal for programs.
func inWords(e *plugin.Error) *oracle.Refused {
	out := &oracle.Refused{Status: e.Status}
	if cause, ok := errors.AsType[*fault.Error](e.Cause); ok {
		out.Code = cause.Code
	}
	return out
}

// charge writes down what a model call cost, also when the turn was stopped: it
// was spent.
func (w *Worker) charge(ctx context.Context, by asking, u plugin.Usage) {
	r := by.run
	if w.budgeted(r) {
		w.writeDown(ctx, r, func(ctx context.Context) error {
			return w.deps.Budgets.Settle(ctx, r.Request.AppKey, by.held.key,
				appkey.Amount{Tokens: u.InputTokens + u.OutputTokens, Micros: u.CostMicros})
		})
	}
	w.settleDay(ctx, r, by.held, u.CostMicros)
}

func (w *Worker) writeDown(ctx context.Context, r oracle.Run, add func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWait)
	defer cancel()
	if _, err := patiently(ctx, func() (struct{}, error) { return struct{}{}, add(ctx) }); err != nil {
		w.deps.Log.Error("what a model call cost was not settled: what was set aside for it stays spent", slog.String("event", "turn.charge_failed"), slog.String("run_id", r.ID), slog.Any("error", err))
	}
}
