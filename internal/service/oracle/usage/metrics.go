package usage

import (
	"time"

	"github.com/castalia-org/castalia/internal/platform/telemetry"
)

// firstWord are the buckets of the time to a model's first word, in seconds:
// models that think take minutes.
func firstWord() []float64 { return []float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300} }

// Measure shows operators what is counted, without saying whose it is.
func (r *Recorder) Measure(m *telemetry.Metrics) {
	calls := m.Counter("model_calls_total", "Requests to models, by how they ended.", "model", "source", "result")
	tokens := m.Counter("model_tokens_total", "Tokens of models: input (of it cached) and output (of it reasoning).", "model", "kind")
	cost := m.Counter("model_cost_micros_total", "What models cost, in millionths of the currency of their prices.", "model")
	first := m.Histogram("model_first_token_seconds", "Time to a model's first word.", firstWord(), "model")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.observe = func(row Row, waited time.Duration) {
		result := "ok"
		if row.Failed > 0 {
			result = "failed"
		}
		calls.WithLabelValues(row.Model, row.Source, result).Inc()
		for kind, n := range map[string]int64{
			"input": row.Usage.InputTokens, "cached": row.Usage.CachedTokens, "output": row.Usage.OutputTokens, "reasoning": row.Usage.ReasoningTokens,
		} {
			tokens.WithLabelValues(row.Model, kind).Add(float64(max(n, 0)))
		}
		cost.WithLabelValues(row.Model).Add(float64(max(row.Usage.CostMicros, 0)))
		if waited > 0 {
			first.WithLabelValues(row.Model).Observe(waited.Seconds())
		}
	}
}
