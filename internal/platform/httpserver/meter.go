package httpserver

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/castalia-org/castalia/internal/platform/telemetry"
)

// meter measures requests. Labels come from the route table, so there are as
// many series as there are routes, whatever clients send.
type meter struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	sent     *prometheus.CounterVec
	inFlight prometheus.Gauge
}

func newMeter(m *telemetry.Metrics) *meter {
	if m == nil {
		return nil
	}
	return &meter{
		requests: m.Counter("http_requests_total", "Requests answered.", "surface", "method", "route", "status"),
		duration: m.Histogram("http_request_duration_seconds", "Time from the request's headers to the end of the answer.",
			nil, "surface", "method", "route"),
		sent:     m.Counter("http_response_bytes_total", "Body bytes sent.", "surface"),
		inFlight: m.Gauge("http_requests_in_flight", "Requests being answered.").WithLabelValues(),
	}
}

var statusClasses = [...]string{"1xx", "2xx", "3xx", "4xx", "5xx"}

// routeMeter holds the instruments of one route, looked up once.
type routeMeter struct {
	classes  [len(statusClasses)]prometheus.Counter
	duration prometheus.Observer
	sent     prometheus.Counter
	inFlight prometheus.Gauge
}

func (m *meter) route(surface, method, pattern string) *routeMeter {
	if m == nil {
		return nil
	}
	r := &routeMeter{
		duration: m.duration.WithLabelValues(surface, method, pattern),
		sent:     m.sent.WithLabelValues(surface),
		inFlight: m.inFlight,
	}
	for i, class := range statusClasses {
		r.classes[i] = m.requests.WithLabelValues(surface, method, pattern, class)
	}
	return r
}

func (r *routeMeter) enter() {
	if r != nil {
		r.inFlight.Inc()
	}
}

func (r *routeMeter) leave(status int, sent int64, took time.Duration) {
	if r == nil {
		return
	}
	r.inFlight.Dec()
	if i := status/100 - 1; i >= 0 && i < len(r.classes) {
		r.classes[i].Inc()
	}
	r.duration.Observe(took.Seconds())
	r.sent.Add(float64(sent))
}
