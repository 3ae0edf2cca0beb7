package telemetry_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/telemetry"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMetrics()
	m.Counter("dials_total", "Dials.", "kind").WithLabelValues("first").Add(2)
	m.Counter("dials_total", "Dials.", "kind").WithLabelValues("first").Inc() // the same one
	m.Gauge("open", "Open things.").WithLabelValues().Set(7)
	m.GaugeFunc("asked", "Asked.", func() float64 { return 3 })
	m.CounterFunc("grown", "Grown.", func() float64 { return 4 })
	m.Histogram("took_seconds", "Time.", nil, "op").WithLabelValues("x").Observe(0.02)
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	for _, line := range []string{
		`castalia_dials_total{kind="first"} 3`, "castalia_open 7", "castalia_asked 3", "castalia_grown 4",
		`castalia_took_seconds_bucket{op="x",le="0.025"} 1`, "# TYPE go_goroutines gauge",
	} {
		if !strings.Contains(w.Body.String(), line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
}

func TestMetricsOff(t *testing.T) {
	t.Parallel()
	var m *telemetry.Metrics
	m.Counter("x", "", "l").WithLabelValues("a").Inc()
	m.Histogram("x", "", nil).WithLabelValues().Observe(1)
	m.GaugeFunc("x", "", func() float64 { return 0 })
}

func TestMetricOfTwoShapesPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("two shapes of one name were taken")
		}
	}()
	m := telemetry.NewMetrics()
	m.Counter("x", "X.", "a")
	m.Gauge("x", "X.", "a")
}
