package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/docs"
	"github.com/castalia-org/castalia/internal/app/archiving"
	"github.com/castalia-org/castalia/internal/app/console"
	"github.com/castalia-org/castalia/internal/app/guides"
	"github.com/castalia-org/castalia/internal/app/measure"
	"github.com/castalia-org/castalia/internal/app/profile"
	"github.com/castalia-org/castalia/internal/app/pulse"
	"github.com/castalia-org/castalia/internal/app/retaining"
	"github.com/castalia-org/castalia/internal/app/webhooks"
	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/lease"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
)

// staleLease is how long a lease that ended is remembered: longer than any
// process may sleep and still believe to hold it.
const staleLease = 7 * 24 * time.Hour

// tidyHourly does the hourly upkeep of the database, on one node.
func (a *App) tidyHourly(ctx context.Context) error {
	return a.res.leases.Every(ctx, "tend", time.Hour, func(ctx context.Context, _ lease.Lease) error {
		_, err := a.res.leases.Sweep(ctx, staleLease)
		return errors.Join(err, a.res.db.Optimize(ctx))
	})
}

// build makes every part in the order in which they stand on each other.
func (a *App) build(ctx context.Context) error {
	documents, err := a.buildOperatorDocs(ctx)
	if err != nil {
		return err
	}
	pages, err := guides.Surface(a.opt.Settings.Oracle.Name, docs.Pages, a.pages)
	if err != nil {
		return err
	}
	a.pulse = pulse.New(a.res.db, a.res.node)
	measure.Writes(a.res.metrics, a.pulse.Trouble)
	a.parts = append(a.parts, part{
		name: "app",
		surfaces: []httpserver.Surface{
			a.healthSurface(), a.operatorSurface(),
			profile.Surface(a.opt.Settings.Server.Profiling), console.Surface(a.getFeatures), pages,
		},
		workers: map[string]func(context.Context) error{
			"limits": func(ctx context.Context) error { return ratelimit.Exchange(ctx, a.res.node, a.res.bus, a.limits.all()) },
			"pulse":  a.pulse.Run,
			"upkeep": a.tidyHourly,
		},
	})
	who, err := a.buildIdentity(ctx)
	if err != nil {
		return fmt.Errorf("build identity: %w", err)
	}
	https, err := a.buildHTTPS(ctx)
	if err != nil {
		return err
	}
	a.parts = append(a.parts, who, documents, a.buildInspect(), https)
	if a.cold, err = retaining.NewCold(a.res.db, a.res.blobs, &a.opt.Settings, a.opt.Log); err != nil {
		return err
	}
	keeping, err := retaining.New(retaining.Deps{
		DB: a.res.db, Cold: a.cold, Leases: a.res.leases, Settings: &a.opt.Settings, Serves: a.serves,
		Rules: a.documents.rules, Trail: a.inspected.Trail, Outbox: a.res.outbox, Log: a.opt.Log,
	})
	if err != nil {
		return err
	}
	a.parts = append(a.parts, part{
		name: "retention", surfaces: []httpserver.Surface{keeping.Surface()},
		workers: map[string]func(context.Context) error{"sweep": keeping.Run},
	})
	archives, err := archiving.New(archiving.Deps{
		DB: a.res.db, Blobs: a.res.blobs, Leases: a.res.leases, Migrations: allMigrations(), Settings: &a.opt.Settings,
		Schedule: a.documents.backups, Ship: a.res.ship, Trail: a.inspected.Trail, Metrics: a.res.metrics,
		Version: a.opt.Version, Log: a.opt.Log,
	})
	if err != nil {
		return err
	}
	a.parts = append(a.parts, part{
		name: "backups", surfaces: []httpserver.Surface{archives.Surface()}, causes: archives.Causes(),
		workers: map[string]func(context.Context) error{"make": archives.Run},
	})
	if ship := a.res.ship; ship != nil {
		a.parts = append(a.parts, part{
			name: "replica", workers: map[string]func(context.Context) error{"copy": ship.Run}, causes: ship.Causes(),
		})
	}
	hooks, err := webhooks.New(webhooks.Deps{
		DB: a.res.db, Leases: a.res.leases, Key: a.opt.Settings.Identity.OracleKey,
		AllowPrivate: a.opt.Settings.Webhooks.AllowPrivate,
		Authenticate: a.authenticated(identity.Oracle), CORS: a.openCORS(), Log: a.opt.Log, Now: a.res.now,
	}, a.res.outbox)
	if err != nil {
		return fmt.Errorf("build webhooks: %w", err)
	}
	a.parts = append(a.parts, part{
		name: "webhooks", writes: true, surfaces: []httpserver.Surface{hooks.Surface}, workers: hooks.Workers,
	})
	if err := a.buildServices(ctx, hooks); err != nil {
		return err
	}
	watch := a.watchCauses(ctx)
	a.parts = append(a.parts, part{
		name: "causes", surfaces: []httpserver.Surface{watch.Surface()},
		workers: map[string]func(context.Context) error{"look": watch.Run},
	})
	return nil
}

// buildServices makes the services that this node has, each with those below it
// that it uses.
func (a *App) buildServices(ctx context.Context, hooks *webhooks.Webhooks) (err error) {
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
		a.parts = append(a.parts, files.part, part{
			name: "knowledge", writes: true, surfaces: files.knowledge.Surfaces, workers: files.knowledge.Workers,
		})
	}
	if a.serves("oracle") {
		if talking, err = a.buildOracle(ctx, files, queries); err != nil {
			return fmt.Errorf("build oracle: %w", err)
		}
		a.parts = append(a.parts, talking.part)
	}
	if files != nil {
		a.parts = append(a.parts, part{name: "agents", surfaces: []httpserver.Surface{files.agents(talking)}})
	}
	a.parts = append(a.parts, part{name: "people", surfaces: a.peopleSurface(files, talking)})
	if a.serves("ussd") {
		telephone, err := a.buildUSSD(talking, queries, files, hooks)
		if err != nil {
			return fmt.Errorf("build ussd: %w", err)
		}
		a.parts = append(a.parts, telephone)
	}
	return nil
}
