package telemetry

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// ClientSpans returns a way to begin spans of requests to others, below the span
// that ctx carries and also after that one has ended: work may outlive the request
// that asked for it. It is nil when ctx carries none. The function that ends a span
// adds what became known meanwhile; an error's text is redacted.
func ClientSpans(ctx context.Context) func(ctx context.Context, name string,
	attrs ...slog.Attr) (context.Context, func(err error, attrs ...slog.Attr)) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return nil
	}
	return func(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, func(error, ...slog.Attr)) {
		ctx, span := parent.TracerProvider().Tracer(tracerName).Start(trace.ContextWithSpan(ctx, parent), name,
			trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(spanAttributes(attrs)...))
		return ctx, func(err error, more ...slog.Attr) {
			span.SetAttributes(spanAttributes(more)...)
			if err != nil {
				span.SetStatus(codes.Error, Redact(err.Error()))
			}
			span.End()
		}
	}
}

func spanAttributes(attrs []slog.Attr) []attribute.KeyValue {
	out := make([]attribute.KeyValue, 0, len(attrs))
	for _, a := range attrs {
		switch v := a.Value.Resolve(); v.Kind() {
		case slog.KindInt64:
			out = append(out, attribute.Int64(a.Key, v.Int64()))
		case slog.KindFloat64:
			out = append(out, attribute.Float64(a.Key, v.Float64()))
		case slog.KindBool:
			out = append(out, attribute.Bool(a.Key, v.Bool()))
		default:
			if list, ok := v.Any().([]string); ok {
				out = append(out, attribute.StringSlice(a.Key, list))
				continue
			}
			out = append(out, attribute.String(a.Key, v.String()))
		}
	}
	return out
}
