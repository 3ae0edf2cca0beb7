package app

import (
	"context"
	"fmt"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// build makes every part in the order in which they stand on each other.
func (a *App) build(ctx context.Context) error {
	a.parts = append(a.parts, part{
		name:     "app",
		surfaces: []httpserver.Surface{a.healthSurface(), a.operatorSurface(), consoleSurface()},
		workers: map[string]func(context.Context) error{
			"limits": func(ctx context.Context) error { return a.limits.share(ctx, a.res.node, a.res.bus) },
		},
	})
	for _, step := range []struct {
		service string // empty: on every node
		build   func(context.Context) (part, error)
	}{
		{"", a.buildIdentity},
		{"ussd", a.buildUSSD},
		{"query", a.buildQuery},
		{"filestore", a.buildFiles},
		{"oracle", a.buildOracle},
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
