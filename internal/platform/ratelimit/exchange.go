package ratelimit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/bus"
)

// exchangeInterval bounds how far a fleet can overshoot a limit: by what each
// node lets through between two exchanges.
const exchangeInterval = 250 * time.Millisecond

// Exchange shares counts with the other nodes until ctx ends. Without the bus
// each node enforces alone.
func Exchange(ctx context.Context, node string, hints bus.Bus, limiters []*Limiter) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, limiter := range limiters {
		if limiter == nil {
			continue
		}
		subject := "limits." + limiter.Name()
		sub, err := hints.Subscribe(subject, func(m bus.Message) {
			if counts, err := ParseCounts(m.Data); err == nil && counts.Node != node {
				limiter.Merge(counts)
			}
		})
		if err != nil {
			return fmt.Errorf("hear other nodes' counts: %w", err)
		}
		defer func() { _ = sub.Unsubscribe() }()
		running.Go(func() {
			limiter.Share(ctx, node, exchangeInterval, func(ctx context.Context, c Counts) error {
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
