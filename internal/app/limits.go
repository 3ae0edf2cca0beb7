package app

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// limits are the counters that several services share.
type limits struct {
	// telephone counts requests by client address over /api/ussd…, / and /health.
	telephone *httpserver.Limiter
	// principal counts requests by authenticated caller.
	principal *httpserver.Limiter
	// failedAuth counts refused credentials by client address.
	failedAuth *httpserver.Limiter
	// revocation counts revocations by client address, revocations all new ones.
	revocation, revocations *httpserver.Limiter
}

const (
	failedAuthPerMinute = 60
	// shareInterval bounds how far a fleet can overshoot a limit: by what each
	// node lets through between two exchanges.
	shareInterval = 250 * time.Millisecond
)

func newLimits(s config.Server, id config.Identity, gateways config.Networks) limits {
	return limits{
		telephone:  httpserver.NewLimiter(httpserver.LimiterConfig{Name: "telephone", PerMinute: s.RateLimit, Exempt: gateways}),
		principal:  httpserver.NewLimiter(httpserver.LimiterConfig{Name: "principal", PerMinute: s.PrincipalLimit}),
		failedAuth: httpserver.NewLimiter(httpserver.LimiterConfig{Name: "failed_auth", PerMinute: failedAuthPerMinute}),

		revocation:  httpserver.NewLimiter(httpserver.LimiterConfig{Name: "revocation", PerMinute: id.RevocationLimit}),
		revocations: httpserver.NewLimiter(httpserver.LimiterConfig{Name: "revocations", PerMinute: id.RevocationTotal}),
	}
}

func (l limits) all() []*httpserver.Limiter {
	return []*httpserver.Limiter{l.telephone, l.principal, l.failedAuth, l.revocation, l.revocations}
}

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
			if counts, err := httpserver.ParseCounts(m.Data); err == nil && counts.Node != node {
				limiter.Merge(counts)
			}
		})
		if err != nil {
			return fmt.Errorf("hear other nodes' counts: %w", err)
		}
		defer func() { _ = sub.Unsubscribe() }()
		running.Go(func() {
			limiter.Share(ctx, node, shareInterval, func(ctx context.Context, c httpserver.Counts) error {
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
