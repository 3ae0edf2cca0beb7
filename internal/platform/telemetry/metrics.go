package telemetry

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics is one registry of measurements. Names get the prefix castalia_. A
// constructor that is asked twice for the same name returns the same
// instrument; the same name with another shape is a programming error and
// panics at start.
type Metrics struct{ registry *prometheus.Registry }

const namespace = "castalia"

// NewMetrics returns a registry that already measures the Go runtime and the process.
func NewMetrics() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// DurationBuckets suit requests and queries: half a millisecond to half a minute.
func DurationBuckets() []float64 {
	return []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
}

// Counter returns a counter with the labels.
func (m *Metrics) Counter(name, help string, labels ...string) *prometheus.CounterVec {
	return register(m, name, prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help},
		labels))
}

// Gauge returns a gauge with the labels.
func (m *Metrics) Gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return register(m, name, prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help},
		labels))
}

// GaugeFunc measures by asking read whenever metrics are collected.
func (m *Metrics) GaugeFunc(name, help string, read func() float64) {
	if m == nil {
		return
	}
	register(m, name, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, read))
}

// CounterFunc is GaugeFunc for a value that only grows.
func (m *Metrics) CounterFunc(name, help string, read func() float64) {
	if m == nil {
		return
	}
	register(m, name, prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help},
		read))
}

// Histogram returns a histogram with the labels; nil buckets are DurationBuckets.
func (m *Metrics) Histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	if buckets == nil {
		buckets = DurationBuckets()
	}
	return register(m, name, prometheus.NewHistogramVec(
		prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels))
}

// Registerer is for libraries that bring their own collectors.
func (m *Metrics) Registerer() prometheus.Registerer { return m.registry }

// Gatherer reads everything that was measured.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// Handler answers with the text that Prometheus scrapes.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, DisableCompression: true})
}

// register returns c, or the collector of the same name that was there
// before. A nil registry hands out an instrument that nobody reads.
func register[C prometheus.Collector](m *Metrics, name string, c C) C {
	if m == nil {
		return c
	}
	err := m.registry.Register(c)
	if err == nil {
		return c
	}
	if there, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if same, ok := there.ExistingCollector.(C); ok {
			return same
		}
	}
	panic(fmt.Sprintf("telemetry: metric %s is registered with another shape: %v", name, err))
}
