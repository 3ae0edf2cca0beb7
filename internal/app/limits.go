package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/bus"
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
	// verify shares out the time of verification between client addresses. It is
	// not exchanged with other nodes: it is this node's time.
	verify *ratelimit.Gate
	// revocations counts all new revocations.
	revocations *ratelimit.Limiter
}

// shareInterval bounds how far a fleet can overshoot a limit: by what each
// node lets through between two exchanges.
const shareInterval = 250 * time.Millisecond

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

		verify: ratelimit.NewGate(ratelimit.GateConfig{Budget: s.VerifyBudget, Wait: s.VerifyWait}),
	}
}

func (l limits) all() []*ratelimit.Limiter {
	return slices.AppendSeq([]*ratelimit.Limiter{l.telephone, l.principal, l.operator, l.guesses, l.revocations},
		maps.Values(l.classes))
}

// measure shows operators what was refused.
func (l limits) measure(m *telemetry.Metrics) { ratelimit.Measure(m, l.verify, l.all()...) }

// share exchanges counts with the other nodes until ctx ends. Without the bus
// each node enforces alone.
func (l limits) share(ctx context.Context, node string, hints bus.Bus) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, limiter := range l.all() {
		if limiter == nil {
			continue
		}
		subject := "limits." + limiter.Name()
		sub, err := hints.Subscribe(subject, func(m bus.Message) {
			if counts, err := ratelimit.ParseCounts(m.Data); err == nil && counts.Node != node {
				limiter.Merge(counts)
			}
		})
		if err != nil {
			return fmt.Errorf("hear other nodes' counts: %w", err)
		}
		defer func() { _ = sub.Unsubscribe() }()
		running.Go(func() {
			limiter.Share(ctx, node, shareInterval, func(ctx context.Context, c ratelimit.Counts) error {
				data, err := c.AppendBinary(nil)
				if err != nil {
					return err
				}
				return hints.Publish(ctx, subject, data)
			})
		})
	}
	<-ctx.Done()
	return nil
}
