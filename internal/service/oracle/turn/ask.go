package turn

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
	"github.com/castalia-org/castalia/internal/service/oracle/usage"
	"github.com/castalia-org/castalia/plugin"
)

// Meter counts requests to models and what people said; *usage.Recorder is one.
type Meter interface {
	Add(c usage.Call)
	AddMessage(m usage.Message)
}

// purposeSubAgent is why sub-agents ask a model.
const purposeSubAgent = "sub-agent"

// asking is for whom a model is asked.
type asking struct {
	run   oracle.Run
	spans oracle.Spans
	held  held
	// plugin is whose sub-agent asks; empty when the turn itself does.
	plugin string
}

// ask sends a request to its model, and sees to it that it is paid for, counted
// and traced. All requests to models go this way.
func (w *Worker) ask(ctx context.Context, by asking, req plugin.ModelRequest,
	out func(plugin.Chunk),
) (plugin.ModelResponse, error) {
	r := by.run
	offered := model.Find(w.deps.Provider, req.Model)
	ctx, end := w.traced(ctx, r, by.spans, req, offered)
	began := time.Now()
	var (
		once  sync.Once
		first time.Duration
	)
	resp, err := w.deps.Provider.Stream(ctx, req, func(c plugin.Chunk) {
		once.Do(func() { first = time.Since(began) })
		out(c)
	})
	if err != nil {
		resp.Usage = model.Cut(req, resp)
	}
	offered = model.Answered(w.deps.Provider, offered, resp.Model) // who stood in is who is paid and counted
	if resp.Usage.CostMicros == 0 {
		resp.Usage.CostMicros = offered.Cost(resp.Usage)
	}
	end(resp, err)
	paid := resp.Usage
	if err == nil {
		paid = model.Counted(req, resp)
	}
	if paid.CostMicros == 0 {
		paid.CostMicros = offered.Cost(paid)
	}
	w.charge(ctx, by, paid)
	if w.deps.Meter != nil {
		w.deps.Meter.Add(usage.Call{
			At: began, Owner: r.Owner, Model: offered.ID, Source: cmp.Or(by.plugin, r.Request.Origin), Usage: resp.Usage,
			First:  first,
			Failed: err != nil && !run.IsAbort(context.Cause(ctx)), // who stops an answer has not seen it fail
		})
	}
	return resp, err
}

// traced begins the span of a request to a model, by the conventions of
// OpenTelemetry for generative AI. What was said is not in it.
func (w *Worker) traced(
	ctx context.Context, r oracle.Run, spans oracle.Spans, req plugin.ModelRequest, offered model.Info,
) (context.Context, func(plugin.ModelResponse, error)) {
	if spans == nil {
		return ctx, func(plugin.ModelResponse, error) {}
	}
	asked := []slog.Attr{
		said("gen_ai.operation.name", "chat"), said("gen_ai.provider.name", w.deps.Provider.Name()),
		said("gen_ai.request.model", offered.ID), said("gen_ai.conversation.id", r.SessionID),
		said("castalia.run_id", r.ID), said("castalia.purpose", req.Purpose),
	}
	ctx, end := spans(ctx, "chat "+offered.ID, asked...)
	return ctx, func(resp plugin.ModelResponse, err error) {
		attrs := []slog.Attr{
			said("gen_ai.response.model", cmp.Or(resp.Model, offered.ID)),
			said("gen_ai.usage.input_tokens", resp.Usage.InputTokens), said("gen_ai.usage.output_tokens", resp.Usage.OutputTokens),
			said("gen_ai.usage.cache_read.input_tokens", resp.Usage.CachedTokens),
		}
		if resp.Finish != "" {
			attrs = append(attrs, said("gen_ai.response.finish_reasons", []string{resp.Finish}))
		}
		if err != nil {
			attrs = append(attrs, said("error.type", string(model.From(err).Kind)))
		}
		end(err, attrs...)
	}
}

// said is an attribute of a span; the names are OpenTelemetry's, not ours.
func said(key string, value any) slog.Attr { return slog.Any(key, value) }
