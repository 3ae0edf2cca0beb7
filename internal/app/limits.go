package app

import (
	"maps"
	"slices"

	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
)

// limits are what several services share: counters, and the gate of verification.
type limits struct {
	// telephone counts requests by client address over /api/ussd…, / and /health.
	telephone *ratelimit.Limiter
	// principal counts requests by authenticated caller.
	principal *ratelimit.Limiter
	// operator counts wrong operator's tokens by client address, guesses other
	// wrong secrets.
	operator, guesses *ratelimit.Limiter
	// classes count requests of routes that need no credential.
	classes map[httpserver.LimitClass]*ratelimit.Limiter
	// open bounds the requests that are under way, by caller or else by address.
	open *ratelimit.Places
	// verify shares out the time of verification between client addresses. It is
	// not exchanged with other nodes: it is this node's time.
	verify *ratelimit.Gate
	// revocations counts all new revocations.
	revocations *ratelimit.Limiter
}

func newLimits(s config.Server, id config.Identity, gateways config.Networks) limits {
	limit := func(name string, perMinute int) *ratelimit.Limiter {
		return ratelimit.NewLimiter(ratelimit.LimiterConfig{Name: name, PerMinute: perMinute})
	}
	return limits{
		telephone: ratelimit.NewLimiter(ratelimit.LimiterConfig{Name: "telephone", PerMinute: s.RateLimit, Exempt: gateways}),
		principal: limit("principal", s.PrincipalLimit),
		operator:  limit("operator_token", s.GuessLimit),
		guesses:   limit("wrong_secret", s.GuessLimit),
		classes: map[httpserver.LimitClass]*ratelimit.Limiter{
			httpserver.LimitContent:     limit("public_content", s.ContentLimit),
			httpserver.LimitPages:       limit("pages", s.PageLimit),
			httpserver.LimitRevocations: limit("revocation", s.RevocationLimit),
		},
		revocations: limit("revocations", id.RevocationTotal),

		open:   ratelimit.NewPlaces(min(s.OpenRequests, max(s.OpenConnections/4, 1))),
		verify: ratelimit.NewGate(ratelimit.GateConfig{Budget: s.VerifyBudget, Wait: s.VerifyWait}),
	}
}

func (l limits) all() []*ratelimit.Limiter {
	return slices.AppendSeq([]*ratelimit.Limiter{l.telephone, l.principal, l.operator, l.guesses, l.revocations},
		maps.Values(l.classes))
}

// measure shows operators what was refused.
func (l limits) measure(m *telemetry.Metrics) { ratelimit.Measure(m, l.verify, l.all()...) }
