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
	who, err := a.buildIdentity(ctx)
	if err != nil {
		return fmt.Errorf("build identity: %w", err)
	}
	documents, err := a.buildOperatorDocs(ctx)
	if err != nil {
		return err
	}
	a.parts = append(a.parts, who, documents)
	return a.buildServices(ctx)
}

// buildServices makes the services that this node has, each with those below it
// that it uses.
func (a *App) buildServices(ctx context.Context) (err error) {
	var (
		queries *queryPart
		files   *filesPart
		talking *oraclePart
	)
	if a.serves("query") {
		if queries, err = a.buildQuery(ctx); err != nil {
			return fmt.Errorf("build query: %w", err)
		}
		a.parts = append(a.parts, queries.part)
	}
	if a.serves("filestore") {
		if files, err = a.buildFiles(ctx); err != nil {
			return fmt.Errorf("build filestore: %w", err)
		}
		a.parts = append(a.parts, files.part)
	}
	if a.serves("oracle") {
		if talking, err = a.buildOracle(ctx, files, queries); err != nil {
			return fmt.Errorf("build oracle: %w", err)
		}
		a.parts = append(a.parts, talking.part)
	}
	if a.serves("ussd") {
		telephone, err := a.buildUSSD(talking, queries)
		if err != nil {
			return fmt.Errorf("build ussd: %w", err)
		}
		a.parts = append(a.parts, telephone)
	}
	return nil
}
