package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/castalia-org/castalia/internal/app/probe"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdhttp"
)

// How long a starting node pauses between its tries to reach the database.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = 5 * time.Second
)

// awaitDatabase opens the database of a fleet, looks whether the keys are its
// own and brings the tables up to date, and waits when it is away: nodes and
// their database start in any order, and a node that is restarted during an
// outage comes back with the database. Until then the node holds its port and
// says that it is degraded. A database that answers and refuses, such as a wrong
// password, ends the start at once; so does another key.
func (a *App) awaitDatabase(ctx context.Context) error {
	s := &a.opt.Settings
	err := a.prepareDatabase(ctx)
	if err == nil || !s.Storage.Database.Given() || s.Storage.DatabaseWait <= 0 || !sqldb.IsUnavailable(err) {
		return err
	}
	handler, holdErr := a.waitingServer()
	if holdErr != nil {
		return holdErr
	}
	release, holdErr := a.server.Hold(ctx, handler)
	if holdErr != nil {
		return holdErr
	}
	defer release()
	end := a.started.Add(s.Storage.DatabaseWait)
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		left := time.Until(end)
		if left <= 0 {
			return fmt.Errorf("gave up after %s (DATABASE_WAIT): %w", s.Storage.DatabaseWait, err)
		}
		pause = min(pause, left)
		a.opt.Log.Warn("the database is away: waiting for it", slog.String("event", "database.away"), slog.Duration("next_try", pause),
			slog.Duration("gives_up_in", left.Round(time.Second)), slog.Any("error", err))
		if err := pace.Sleep(ctx, pause); err != nil {
			return err
		}
		if err = a.prepareDatabase(ctx); err == nil {
			a.opt.Log.Info("the database answers: starting", slog.String("event", "database.back"), slog.Duration("waited", time.Since(a.started).Round(time.Millisecond)))
			return nil
		}
		if !sqldb.IsUnavailable(err) {
			return err
		}
	}
}

// prepareDatabase does all that must be done in the database before the services
// are built. After a failure it may be called again.
func (a *App) prepareDatabase(ctx context.Context) error {
	if err := a.res.useDatabase(ctx, &a.opt.Settings); err != nil {
		return err
	}
	for _, m := range serviceMigrations() {
		if slices.Contains(services, m.Service) && !a.serves(m.Service) {
			continue
		}
		if err := a.res.db.Migrate(ctx, m); err != nil {
			return err
		}
	}
	return a.chooseAccess(ctx)
}

// waitingServer answers while the database is away: the program lives, it is not
// healthy and not ready, telephones are told to try later, and everything else is
// to be asked again.
func (a *App) waitingServer() (http.Handler, error) {
	server, err := httpserver.New(httpserver.Config{
		Logger: a.opt.Log, Proxies: a.proxies(), CORS: a.openCORS(),
	})
	if err != nil {
		return nil, err
	}
	if err := server.Mount(a.docs(server)); err != nil {
		return nil, err
	}
	if a.serves("ussd") {
		if err := server.Mount(ussdhttp.Away(a.gatewayDeps())); err != nil {
			return nil, err
		}
	}
	if err := server.Mount(a.probed().Surface()); err != nil {
		return nil, err
	}
	return server, server.Mount(probe.Waiting(a.openCORS()))
}
