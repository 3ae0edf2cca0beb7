package ussdhttp

import (
	"cmp"
	"time"

	"github.com/castalia-org/castalia/internal/platform/telemetry"
	"github.com/castalia-org/castalia/internal/service/ussd"
)

// Metrics counts what the service tells it. Screens come from menu files, so
// there are as many series as there are screens.
type Metrics struct {
	hop     func(dialect, result string, took time.Duration)
	refused func(dialect, field string)
	shown   func(screen string)
	expired func(n int)
	locked  func()
}

var _ ussd.Observer = (*Metrics)(nil)

// NewMetrics registers the service's instruments.
func NewMetrics(m *telemetry.Metrics) *Metrics {
	requests := m.Counter("ussd_requests_total", "Gateway requests by dialect and result: moved, replayed, refused, failed.", "dialect", "result")
	answers := m.Counter("ussd_answers_total", "Answers by the screen they show.", "screen")
	duration := m.Histogram("ussd_hop_duration_seconds", "Time from a gateway's request to its answer.", nil, "dialect", "result")
	refusals := m.Counter("ussd_refusals_total", "Gateway requests that were refused, by dialect and by the field that broke a rule.", "dialect", "field")
	expired := m.Counter("ussd_sessions_expired_total", "Sessions that were left without an end.").WithLabelValues()
	locked := m.Counter("ussd_accounts_locked_total", "Accounts locked after wrong PINs.").WithLabelValues()
	return &Metrics{
		hop: func(dialect, result string, took time.Duration) {
			if result != ussd.ResultRefused { // counted with those that never came as far as the service
				requests.WithLabelValues(dialect, result).Inc()
			}
			duration.WithLabelValues(dialect, result).Observe(took.Seconds())
		},
		refused: func(dialect, field string) {
			requests.WithLabelValues(dialect, ussd.ResultRefused).Inc()
			refusals.WithLabelValues(dialect, field).Inc()
		},
		shown:   func(screen string) { answers.WithLabelValues(screen).Inc() },
		expired: func(n int) { expired.Add(float64(n)) },
		locked:  func() { locked.Inc() },
	}
}

// Hop implements ussd.Observer.
func (m *Metrics) Hop(dialect, screen, result string, took time.Duration) {
	m.hop(cmp.Or(dialect, sessionDialect), result, took)
	if screen != "" {
		m.shown(screen)
	}
}

// Refused implements ussd.Observer.
func (m *Metrics) Refused(dialect, field string) {
	m.refused(cmp.Or(dialect, sessionDialect), field)
}

// sessionDialect names the session endpoint.
const sessionDialect = "default"

// Expired implements ussd.Observer.
func (m *Metrics) Expired(n int) { m.expired(n) }

// Locked implements ussd.Observer.
func (m *Metrics) Locked() { m.locked() }
