package turn

import (
	"context"
	"log/slog"
	"net/http"
	"time"

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

// affordable refuses a model call when the sponsor's day is spent. The refusal
// ends the turn with its own text, as that of a plugin does.
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
		return plugin.Errorf(http.StatusTooManyRequests, "%s", fault.From(err).Message)
	}
	return nil
}

// charge writes down what a model call cost, also when the turn was stopped: it
// was spent.
func (w *Worker) charge(ctx context.Context, r oracle.Run, u plugin.Usage) {
	if u.CostMicros <= 0 || !w.costLimited(r) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), chargeTime)
	defer cancel()
	if _, err := patiently(ctx, func() (struct{}, error) {
		return struct{}{}, w.deps.Ledger.AddCost(ctx, r.Sponsor(), u.CostMicros, time.Now())
	}); err != nil {
		w.deps.Log.Error("what the model cost was not counted", slog.String("run_id", r.ID), slog.Any("error", err))
	}
}
