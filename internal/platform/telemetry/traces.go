package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// TraceConfig says where spans go.
type TraceConfig struct {
	// Endpoint is the collector's base URL, such as http://127.0.0.1:4318;
	// empty switches traces off.
	Endpoint string
	// Service and Version describe this program; Node tells its copies apart.
	Service, Version, Node string
	Logger                 *slog.Logger
}

// Traces exports spans. A nil *Traces is switched off: its methods do nothing
// and cost nothing.
type Traces struct {
	provider   *sdktrace.TracerProvider
	tracer     trace.Tracer
	propagator propagation.TraceContext
}

const tracerName = "github.com/castalia-org/castalia"

// StartTraces begins to export. Without an endpoint it returns nil, which is
// off. A collector that does not answer never holds up the program: spans are
// dropped and a warning is logged once in a while.
func StartTraces(ctx context.Context, cfg TraceConfig) (*Traces, error) {
	if cfg.Endpoint == "" {
		return nil, nil //nolint:nilnil // nil is a *Traces that is off
	}
	u, err := url.Parse(cfg.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("start traces: endpoint %q is not an http or https URL", cfg.Endpoint)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(u.String()))
	if err != nil {
		return nil, fmt.Errorf("start traces: %w", err)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(&patientExporter{SpanExporter: exporter, logger: cfg.Logger}),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", cfg.Service),
			attribute.String("service.version", cfg.Version),
			attribute.String("service.instance.id", cfg.Node),
		)),
	)
	return &Traces{provider: provider, tracer: provider.Tracer(tracerName)}, nil
}

// Shutdown exports what is left.
func (t *Traces) Shutdown(ctx context.Context) error {
	if t == nil {
		return nil
	}
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("stop traces: %w", err)
	}
	return nil
}

// Span is one timed piece of work. The zero Span does nothing.
type Span struct{ span trace.Span }

// StartRequest begins the span of an HTTP request, as the child of the one
// that the caller named in its traceparent header.
func (t *Traces) StartRequest(ctx context.Context, h http.Header, method, route string) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	ctx = t.propagator.Extract(ctx, propagation.HeaderCarrier(h))
	ctx, span := t.tracer.Start(ctx, method+" "+route, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("http.request.method", method), attribute.String("http.route", route)))
	return ctx, Span{span}
}

// StartSpan begins a span below the one that ctx carries. Without one it does
// nothing: work that no request asked for is not traced.
func StartSpan(ctx context.Context, name string) (context.Context, Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, Span{}
	}
	ctx, span := parent.TracerProvider().Tracer(tracerName).Start(ctx, name)
	return ctx, Span{span}
}

// TraceID is the id of the trace, or "".
func (s Span) TraceID() string {
	if s.span == nil {
		return ""
	}
	return s.span.SpanContext().TraceID().String()
}

// End ends the span; an error marks it as failed, with its text redacted.
func (s Span) End(err error) {
	if s.span == nil {
		return
	}
	if err != nil {
		s.span.SetStatus(codes.Error, Redact(err.Error()))
	}
	s.span.End()
}

// EndRequest ends the span of a request with the status that was sent.
func (s Span) EndRequest(status int, requestID string) {
	if s.span == nil {
		return
	}
	s.span.SetAttributes(attribute.Int("http.response.status_code", status), attribute.String("http.request_id", requestID))
	if status >= http.StatusInternalServerError {
		s.span.SetStatus(codes.Error, http.StatusText(status))
	}
	s.span.End()
}

// patientExporter keeps a missing collector from filling the log.
type patientExporter struct {
	sdktrace.SpanExporter
	logger *slog.Logger
	warned atomic.Int64
}

// ExportSpans exports, or logs that it could not at most once a minute.
func (e *patientExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	if err == nil {
		return nil
	}
	now := time.Now().Unix()
	if last := e.warned.Load(); now-last >= 60 && e.warned.CompareAndSwap(last, now) {
		e.logger.LogAttrs(ctx, slog.LevelWarn, "traces are not exported", slog.String("event", "traces.failed"), slog.Int("spans", len(spans)), slog.Any("error", err))
	}
	return nil
}
