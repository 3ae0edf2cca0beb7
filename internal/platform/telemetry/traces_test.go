package telemetry_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/telemetry"
)

// A real collector endpoint gets the spans of a request, as one trace that
// continues the caller's.
func TestTracesAreExported(t *testing.T) {
	t.Parallel()
	got := make(chan string, 8)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- r.URL.Path + "\n" + string(body)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	defer collector.Close()
	traces, err := telemetry.StartTraces(t.Context(), telemetry.TraceConfig{
		Endpoint: collector.URL, Service: "castalia", Node: "n1",
	})
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}
	ctx, span := traces.StartRequest(t.Context(), h, "GET", "/sessions/{id}")
	if span.TraceID() != "0af7651916cd43dd8448eb211c80319c" {
		t.Errorf("the trace is %s", span.TraceID())
	}
	_, inner := telemetry.StartSpan(ctx, "read sessions")
	inner.End(errors.New("no route to +254712345601"))
	span.EndRequest(http.StatusInternalServerError, "the-id")
	if err := traces.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	sent := <-got
	for _, part := range []string{"/v1/traces\n", "GET /sessions/{id}", "read sessions", "the-id", "castalia"} {
		if !strings.Contains(sent, part) {
			t.Errorf("%q was not exported", part)
		}
	}
	if strings.Contains(sent, "2345601") {
		t.Error("a telephone number was exported")
	}
}

func TestTracesOff(t *testing.T) {
	t.Parallel()
	traces, err := telemetry.StartTraces(t.Context(), telemetry.TraceConfig{})
	if traces != nil || err != nil {
		t.Fatalf("got %v %v", traces, err)
	}
	ctx, span := traces.StartRequest(t.Context(), nil, "GET", "/")
	if ctx != t.Context() || span.TraceID() != "" {
		t.Error("a trace was begun")
	}
	span.EndRequest(http.StatusOK, "")
	_, inner := telemetry.StartSpan(context.Background(), "x")
	inner.End(nil)
	if err := traces.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTraceEndpointIsChecked(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"localhost:4318", "ftp://x", "http://", ":"} {
		if _, err := telemetry.StartTraces(t.Context(), telemetry.TraceConfig{Endpoint: bad}); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// A span of work that outlives its request is in the request's trace all the same.
func TestClientSpansOutliveTheirRequest(t *testing.T) {
	t.Parallel()
	got := make(chan string, 8)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- string(body)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	defer collector.Close()
	traces, err := telemetry.StartTraces(t.Context(), telemetry.TraceConfig{
		Endpoint: collector.URL, Service: "castalia", Node: "n1",
	})
	if err != nil {
		t.Fatal(err)
	}
	if telemetry.ClientSpans(t.Context()) != nil {
		t.Error("work that no request asked for is traced")
	}
	ctx, span := traces.StartRequest(t.Context(), http.Header{}, "POST", "/messages/{id}")
	begin := telemetry.ClientSpans(ctx)
	span.EndRequest(http.StatusOK, "the-id")
	//nolint:sloglint // the names of OpenTelemetry
	_, end := begin(t.Context(), "chat m", slog.String("gen_ai.request.model", "m"))
	end(errors.New("no route to +254712345601"), slog.Int64("gen_ai.usage.input_tokens", 7), slog.Any("reasons", []string{"stop-it"})) //nolint:sloglint // as above
	if err := traces.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	sent := <-got
	for _, want := range []string{"chat m", "gen_ai.request.model", "gen_ai.usage.input_tokens", "stop-it"} {
		if !strings.Contains(sent, want) {
			t.Errorf("no %q was sent", want)
		}
	}
	if strings.Contains(sent, "712345601") {
		t.Error("a telephone number was sent")
	}
}
