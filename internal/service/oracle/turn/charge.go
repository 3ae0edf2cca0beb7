package turn

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/castalia-org/castalia/internal/identity/appkey"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/plugin"
)

// chargeTime bounds how long a cost is being written down.
const chargeTime = 5 * time.Second

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

// reserve refuses a model call when the sponsor's day or the app key's budget is
// spent, and holds what it may take of the latter. The refusal ends the turn with its
// own text, as that of a plugin does.
func (w *Worker) reserve(ctx context.Context, r oracle.Run, req plugin.ModelRequest) (held appkey.Amount, err error) {
	if err := w.affordable(ctx, r); err != nil || !w.budgeted(r) {
		return held, err
	}
	want := w.estimate(req)
	// A hold whose acknowledgement got lost is held twice: better than given away.
	held, err = patiently(ctx, func() (appkey.Amount, error) {
		return w.deps.Budgets.Reserve(ctx, r.Owner, r.Request.AppKey, want)
	})
	if fault.Is(err, fault.PaymentRequired) {
		return held, refusal(http.StatusPaymentRequired, err)
	}
	return held, err
}

// affordable refuses a model call when the sponsor's day is spent.
func (w *Worker) affordable(ctx context.Context, r oracle.Run) error {
	if !w.costLimited(r) {
		return nil
	}
	now := time.Now()
	spent, err := patiently(ctx, func() (int64, error) { return w.deps.Ledger.Cost(ctx, r.Sponsor(), now) })
	if err != nil {
		return err
	}
	limit := oracle.Measure{CostMicros: w.deps.Config.Measures.Of(r.Sponsor()).CostMicros}
	if err := limit.Exceeded(0, spent, now); err != nil {
		return refusal(http.StatusTooManyRequests, err)
	}
	return nil
}

// refusal ends a turn as that of a plugin does, and keeps the code of what it is made of.
func refusal(status int, err error) *plugin.Error {
	return &plugin.Error{Status: status, Message: fault.From(err).Message, Cause: err}
}

// charge writes down what a model call cost, also when the turn was stopped: it
// was spent.
func (w *Worker) charge(ctx context.Context, by asking, u plugin.Usage) {
	r := by.run
	if w.budgeted(r) {
		w.writeDown(ctx, r, func(ctx context.Context) error {
			return w.deps.Budgets.Settle(ctx, r.Request.AppKey, by.held,
				appkey.Amount{Tokens: u.InputTokens + u.OutputTokens, Micros: u.CostMicros})
		})
	}
	if u.CostMicros > 0 && w.costLimited(r) {
		w.writeDown(ctx, r, func(ctx context.Context) error {
			return w.deps.Ledger.AddCost(ctx, r.Sponsor(), u.CostMicros, time.Now())
		})
	}
}

func (w *Worker) writeDown(ctx context.Context, r oracle.Run, add func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), chargeTime)
	defer cancel()
	if _, err := patiently(ctx, func() (struct{}, error) { return struct{}{}, add(ctx) }); err != nil {
		w.deps.Log.Error("what the model cost was not counted", slog.String("event", "turn.charge_failed"), slog.String("run_id", r.ID), slog.Any("error", err))
	}
}
