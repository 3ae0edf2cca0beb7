package identityhttp

import (
	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
)

// Measure shows operators what verification costs and what is withdrawn.
func Measure(m *telemetry.Metrics, id *identity.Service) {
	m.CounterFunc("identity_tokens_verified_total", "Tokens that were checked in full.", func() float64 { return float64(id.Stats().Verified) })
	m.CounterFunc("identity_tokens_recalled_total", "Tokens that were known already.", func() float64 { return float64(id.Stats().Recalled) })
	m.CounterFunc("identity_tokens_refused_total", "Tokens that did not hold.", func() float64 { return float64(id.Stats().Refused) })
	m.GaugeFunc("identity_tokens_remembered", "Verified tokens in memory.", func() float64 { return float64(id.Stats().Remembered) })
	m.GaugeFunc("identity_revocations", "Tokens and issuers that were withdrawn.", func() float64 { return float64(id.Stats().Revocations) })
	m.GaugeFunc("identity_connections_watched", "Sockets and streams that end with their token.", func() float64 { return float64(id.Stats().Watched) })
}
