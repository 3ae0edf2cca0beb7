package turn

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/castalia-org/castalia/internal/identity/appkey"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
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

// affordable refuses a model call when the sponsor's day or the app key's budget is
// spent. The refusal ends the turn with its own text, as that of a plugin does.
func (w *Worker) affordable(ctx context.Context, r oracle.Run) error {
	if w.budgeted(r) {
		_, err := patiently(ctx, func() (struct{}, error) { return struct{}{}, w.deps.Budgets.Afford(ctx, r.Owner, r.Request.AppKey) })
		if fault.Is(err, fault.PaymentRequired) {
			return plugin.Errorf(http.StatusPaymentRequired, "%s", fault.From(err).Message)
		}
		if err != nil {
			return err
		}
	}
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
		return plugin.Errorf(http.StatusTooManyRequests, "%s", fault.From(err).Message)
	}
	return nil
}

// charge writes down what a model call cost, also when the turn was stopped: it
// was spent.
func (w *Worker) charge(ctx context.Context, r oracle.Run, u plugin.Usage) {
	if w.budgeted(r) {
		w.writeDown(ctx, r, func(ctx context.Context) error {
			return w.deps.Budgets.Charge(ctx, r.Request.AppKey, appkey.Amount{Tokens: u.InputTokens + u.OutputTokens, Micros: u.CostMicros})
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
		w.deps.Log.Error("what the model cost was not counted", slog.String("run_id", r.ID), slog.Any("error", err))
	}
}
