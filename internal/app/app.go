package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/app/addresskit"
	"github.com/castalia-org/castalia/internal/app/causes"
	"github.com/castalia-org/castalia/internal/app/inspect"
	"github.com/castalia-org/castalia/internal/app/keyring"
	"github.com/castalia-org/castalia/internal/app/pulse"
	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/appkey"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeyhttp"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/platform/words/wordshttp"
	"github.com/castalia-org/castalia/internal/service/oracle/coldstore"
)

// services are the names that --services takes.
var services = []string{"ussd", "filestore", "query", "oracle"}

// App is the program, built and not yet running.
type App struct {
	opt    Options
	res    *resources
	server *httpserver.Server
	limits limits
	gateways
	inspected inspect.Deps // what operators may look at, once it is built

	identity  *identity.Service
	access    access
	roles     operatorRoles
	keys      *appkey.Service
	pages     wordshttp.Speaker // in which language pages are
	faces     appkeyhttp.Face   // how routes for other programs let them in
	documents operatorDocs
	address   addresskit.Admin // where people reach it
	cold      *coldstore.Store // conversations that nobody used for long

	started time.Time
	pulse   *pulse.Pulse // whether writes go through
	parts   []part
}

// part is one service as the program sees it.
type part struct {
	name     string
	surfaces []httpserver.Surface
	// workers run until their context ends; one that fails is started again.
	workers map[string]func(context.Context) error
	// writes says that the part cannot serve while the database takes no writes.
	writes bool
	// ready says what keeps this part from serving; nil means nothing.
	ready func(context.Context) error
	// alone says that the part fails by itself: the node goes on getting requests.
	alone bool
	// causes says to operators what is wrong with the part; nil says nothing.
	causes *causes.Part
	// stop releases what the part holds, after its workers have ended.
	stop func() error
}

// New opens the stores, brings them up to date and builds every service. On
// failure nothing is left open.
func New(ctx context.Context, opt Options) (_ *App, err error) {
	for _, name := range opt.Services {
		if !slices.Contains(services, name) {
			return nil, fmt.Errorf("--services: given %q, allowed is a comma list of %s", name, strings.Join(services, ", "))
		}
	}
	if len(opt.Services) == 0 {
		opt.Services = services
	}
	a := &App{opt: opt, started: time.Now()}
	if a.pages, err = wordshttp.Usual(opt.Settings.Oracle.Language); err != nil {
		return nil, fmt.Errorf("ORACLE_LANGUAGE: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if a.res, err = prepareResources(ctx, &a.opt, keyring.ReadOrMake); err != nil {
		return nil, err
	}
	if a.server, err = a.newServer(); err != nil {
		return nil, err
	}
	// The port is taken first: services tell others where this node is, and
	// with PORT=0 nobody knows before. Requests wait until Run.
	if err = a.server.Listen(ctx); err != nil {
		return nil, err
	}
	if err = a.awaitDatabase(ctx); err != nil {
		return nil, err
	}
	if err = a.res.openOthers(ctx, &a.opt.Settings); err != nil {
		return nil, err
	}
	if err = a.build(ctx); err != nil {
		return nil, err
	}
	for _, p := range a.parts {
		for _, surface := range p.surfaces {
			if err = a.server.Mount(surface); err != nil {
				return nil, err
			}
		}
	}
	if a.res.room != nil && !a.opt.Settings.Storage.Database.Given() {
		a.res.db.KeepRoom(a.res.room.Records)
	}
	return a, nil
}

// Addr is where the program listens.
func (a *App) Addr() string { return a.server.Addr() }

// Routes lists everything that is served, for documentation and tests.
func (a *App) Routes() []httpserver.MountedRoute { return a.server.Routes() }

// Run serves until ctx ends, then drains: not ready first, then requests under
// way, then workers, then the stores.
func (a *App) Run(ctx context.Context) error {
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	for _, p := range a.parts {
		for name, worker := range p.workers {
			running.Go(func() { a.supervise(work, p.name+" "+name, worker) })
		}
	}
	err := a.server.Run(ctx)
	stopWork()
	running.Wait()
	return errors.Join(err, a.Close())
}

// supervise starts a worker again when it fails: a store that is away for a
// while must not leave a node without its background work.
func (a *App) supervise(ctx context.Context, name string, worker func(context.Context) error) {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 10*time.Second) {
		began := time.Now()
		err := worker(ctx)
		if ctx.Err() != nil || err == nil {
			return
		}
		if time.Since(began) > time.Minute {
			wait = 100 * time.Millisecond
		}
		a.opt.Log.Warn("worker failed and starts again", slog.String("event", "worker.failed"), slog.String("worker", name), slog.Duration("wait", wait), slog.Any("error", err))
		if pace.Sleep(ctx, wait) != nil {
			return
		}
	}
}

// Close releases what New opened. Run calls it by itself.
func (a *App) Close() error {
	var errs []error
	for _, p := range slices.Backward(a.parts) {
		if p.stop != nil {
			errs = append(errs, p.stop())
		}
	}
	a.parts = nil
	if a.server != nil {
		errs = append(errs, a.server.Close())
	}
	if a.res != nil {
		errs = append(errs, a.res.close())
		a.res = nil
	}
	return errors.Join(errs...)
}

func (a *App) serves(name string) bool { return slices.Contains(a.opt.Services, name) }
