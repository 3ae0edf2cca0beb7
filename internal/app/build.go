package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/lease"
)

// staleLease is how long a lease that ended is remembered: longer than any
// process may sleep and still believe to hold it.
const staleLease = 7 * 24 * time.Hour

// tend does the hourly upkeep of the database, on one node.
func (a *App) tend(ctx context.Context) error {
	return a.res.leases.Every(ctx, "tend", time.Hour, func(ctx context.Context, _ lease.Lease) error {
		_, err := a.res.leases.Sweep(ctx, staleLease)
		return errors.Join(err, a.res.db.Tend(ctx))
	})
}

// build makes every part in the order in which they stand on each other.
func (a *App) build(ctx context.Context) error {
	a.parts = append(a.parts, part{
		name:     "app",
		surfaces: []httpserver.Surface{a.healthSurface(), a.operatorSurface(), a.profileSurface(), a.consoleSurface()},
		workers: map[string]func(context.Context) error{
			"limits": func(ctx context.Context) error { return a.limits.share(ctx, a.res.node, a.res.bus) },
			"upkeep": a.tend,
		},
	})
	for _, step := range []struct {
		service string // empty: on every node
		build   func(context.Context) (part, error)
	}{
		{"", a.buildIdentity},
		{"query", a.buildQuery},
		{"filestore", a.buildFiles},
		{"oracle", a.buildOracle},
		{"ussd", a.buildUSSD}, // last: its menu asks the others
	} {
		if step.service != "" && !a.serves(step.service) {
			continue
		}
		p, err := step.build(ctx)
		if err != nil {
			return fmt.Errorf("build %s: %w", step.service, err)
		}
		a.parts = append(a.parts, p)
	}
	return nil
}
