// Package oraclekit puts the oracle's parts together, for the program and for
// tests alike.
//
// It promises that what it returns fits: one store under everything, one engine
// per process, plugins started in order. It chooses nothing itself: what a
// deployment has is handed in.
package oraclekit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/lease"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/face"
	"github.com/castalia-org/castalia/internal/service/oracle/face/openaiface"
	"github.com/castalia-org/castalia/internal/service/oracle/instructions"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclehttp"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/registry"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
	"github.com/castalia-org/castalia/internal/service/oracle/sealing"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/plugin"
)

// Deps is what a deployment has. Everything that is nil is left out.
type Deps struct {
	DB       *sqldb.DB
	Bus      bus.Bus
	Leases   *lease.Keeper
	Identity *identity.Service
	Oracle   oracle.Identity
	Provider model.Provider

	Plugins  []plugin.Plugin
	Features map[string]registry.Feature
	Fill     func(pluginName string, into any) error

	// Heartbeat is how often a silent stream says that it is alive; zero is the default.
	Heartbeat time.Duration
	// Parting is how long the end of an aborted stream is held back; zero is the default.
	Parting time.Duration

	// SealKey guards what plugins seal: 32 bytes that do not change.
	SealKey []byte
	// Guesses counts wrong secrets at routes of plugins; nil counts nothing.
	Guesses oraclehttp.Guesses

	// Socket makes the gateway for open pages, which must know whose a session is.
	Socket      func(owners oracle.SessionChecker) (oracle.Publisher, oracle.Dispatcher, error)
	Access      turn.Access
	Attachments turn.Attachments
	MCP         turn.MCP
	// SessionGone, when set, is told of a session that was deleted.
	SessionGone func(ctx context.Context, sessionID string)

	Authenticate func(httpserver.Handler) httpserver.Handler
	// Face lets programs in by other wires; nil is Authenticate.
	Face func(httpserver.Handler) httpserver.Handler
	CORS httpserver.CORSPolicy
	// Public are METHOD path pairs that need no credentials.
	Public []plugin.RoutePattern

	// Instructions are what the operator tells the oracle; nil tells nothing.
	Instructions func() instructions.Instructions
	// Measures are what people may have in a day.
	Measures oracle.Measures
	// Budgets are those of app keys; nil has none.
	Budgets turn.Budgets
	// Admit is asked about people in whose name plugins speak: see turn.Turns.
	Admit func(ctx context.Context, userDID string) error

	Run  run.Config
	Turn turn.Config
	Log  *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Oracle is the parts, put together.
type Oracle struct {
	Store   *oraclesql.Store
	Service *oracle.Service
	Engine  *run.Engine
	Worker  *turn.Worker
	Turns   *turn.Turns
	Plugins *registry.Registry
	Surface httpserver.Surface
	// Faces are the oracle by the wires of others.
	Faces    []httpserver.Surface
	http     oraclehttp.Deps
	titler   *turn.Titler
	pages    oracle.Publisher // nil without a socket gateway
	leases   *lease.Keeper
	identity oracle.Identity
	provider model.Provider
	sealKey  []byte
	log      *slog.Logger
}

// New builds an oracle on a migrated database. Start the plugins with
// StartPlugins and run the Workers.
func New(d Deps) (*Oracle, error) {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	o := &Oracle{Store: oraclesql.New(d.DB), leases: d.Leases, identity: d.Oracle, provider: d.Provider, sealKey: d.SealKey, log: d.Log}
	var err error
	if o.Plugins, err = registry.New(registry.Config{
		Plugins: d.Plugins, Features: d.Features, Fill: d.Fill, ReservedTools: turn.ReservedTools(),
	}); err != nil {
		return nil, err
	}
	o.Service = oracle.New(oracle.Deps{
		Store: o.Store, Identity: d.Oracle, Now: d.Now,
		RunsGone: func(ctx context.Context, runs []oracle.Run) { o.Engine.Gone(ctx, runs) },
		SessionGone: func(ctx context.Context, id string) {
			if d.SessionGone != nil {
				d.SessionGone(ctx, id)
			}
			if c, ok := o.pages.(oracle.SessionCloser); ok {
				c.CloseSession(ctx, id)
			}
		},
	})
	d.Turn.Measures, d.Run.Measures = d.Measures, d.Measures
	td := turn.Deps{
		Store: o.Store, Provider: d.Provider, Plugins: o.Plugins, Identity: d.Oracle, Access: d.Access, Attachments: d.Attachments, MCP: d.MCP,
		Ledger: o.Store, Budgets: d.Budgets, Approvals: o.Store, Log: d.Log, Config: d.Turn,
	}
	var openings func() []instructions.Opening
	if d.Instructions != nil {
		keeper := instructions.NewKeeper(d.Instructions, o.Store.PluginStore("castalia.instructions"), d.Log)
		td.Instructions, openings = keeper.Prompt, keeper.Openings
	}
	if d.Socket != nil {
		if td.Publisher, td.Dispatcher, err = d.Socket(o.Service); err != nil {
			return nil, fmt.Errorf("make socket gateway: %w", err)
		}
	}
	o.pages = td.Publisher
	if o.Worker, err = turn.New(td); err != nil {
		return nil, err
	}
	o.titler = turn.NewTitler(o.Worker)
	d.Run.Logger = d.Log
	d.Run.Ended = func(ctx context.Context, r oracle.Run, result run.Result) {
		o.Worker.Ended(ctx, r, result)
		if !result.Titled {
			o.titler.Offer(r)
		}
	}
	d.Run.Paused = o.Worker.Paused
	o.Engine = run.New(o.Store, d.Bus, o.Worker, d.Run)
	if pages, ok := td.Publisher.(interface{ TakeAnswers(desk oracle.AnswerDesk) }); ok {
		pages.TakeAnswers(o.Engine)
	}
	o.Turns = turn.NewTurns(o.Worker, o.Engine, o.Service)
	o.Turns.Admit = d.Admit
	hd := oraclehttp.Deps{
		Service: o.Service, Turns: o.Turns, Engine: o.Engine, Worker: o.Worker, Plugins: o.Plugins, Provider: d.Provider,
		Nudges: o.Store.PluginStore("castalia.oracle"), Authenticate: d.Authenticate, CORS: d.CORS, Public: d.Public, Guesses: d.Guesses,
		Heartbeat: d.Heartbeat, Parting: d.Parting, Openings: openings, Log: d.Log,
	}
	if d.Identity != nil {
		hd.Delegations = d.Identity
	}
	o.http = hd
	o.Surface, err = oraclehttp.Surface(hd)
	o.Faces = o.faces(d)
	return o, err
}

// faces makes the oracle by the wires of others, behind the same gates.
func (o *Oracle) faces(d Deps) []httpserver.Surface {
	if d.Face == nil {
		d.Face = d.Authenticate
	}
	f := face.New(face.Deps{
		Service: o.Service, Turns: o.Turns, Engine: o.Engine, Provider: d.Provider, Marks: o.Store.PluginStore("castalia.faces"),
		Heartbeat: d.Heartbeat, Log: d.Log,
	})
	return []httpserver.Surface{o.Gated(openaiface.Surface(openaiface.Deps{Faces: f, Authenticate: d.Face, CORS: d.CORS}))}
}

// Gated puts the plugins' gates in front of another surface of the oracle's.
func (o *Oracle) Gated(s httpserver.Surface) httpserver.Surface { return oraclehttp.Gated(o.http, s) }

// StartPlugins tells the plugins that the oracle is up.
func (o *Oracle) StartPlugins(ctx context.Context) error {
	return o.Plugins.Start(ctx, func(name string) plugin.Host {
		sealed := sealing.Sealer{Key: o.sealKey, Purpose: "castalia plugin " + name}
		return plugin.Host{
			Store: o.Store.PluginStore(name), Log: o.log.With(slog.String("plugin", name)),
			OracleDID: o.identity.DID, OracleName: o.identity.Name, Exclusive: o.exclusive(name), Conversations: o.Turns,
			Seal: sealed.Seal, Unseal: sealed.Unseal,
			Shared: func(ctx context.Context, key string) (any, error) {
				return o.Plugins.Shared(ctx, o.Worker.Runtime(ctx, turn.Scene{}), key)
			},
		}
	})
}

// exclusive is plugin.Host.Exclusive for one plugin.
func (o *Oracle) exclusive(owner string) func(context.Context, string, time.Duration, func(context.Context) error) (bool, error) {
	return func(ctx context.Context, name string, ttl time.Duration, fn func(context.Context) error) (bool, error) {
		if o.leases == nil {
			return true, fn(ctx)
		}
		held, ok, err := o.leases.Acquire(ctx, "oracle/"+owner+"/"+name, ttl)
		if err != nil || !ok {
			return false, err
		}
		return true, o.leases.Hold(ctx, held, func(ctx context.Context, _ lease.Lease) error { return fn(ctx) })
	}
}

// Workers run until their context ends.
func (o *Oracle) Workers() map[string]func(context.Context) error {
	all := map[string]func(context.Context) error{
		"runs": o.Engine.Run, "titles": o.titler.Run, "sweep": o.sweep,
	}
	for _, l := range o.Plugins.Loaded() {
		for _, j := range l.Jobs() {
			all["job "+l.Name+" "+j.Name] = o.job(l.Name, j)
		}
		for _, w := range l.Workers() {
			all["worker "+l.Name+" "+w.Name] = o.worker(l.Name, w)
		}
	}
	return all
}

// workerPause is how long a plugin's worker rests after a failure.
const workerPause = 2 * time.Second

// worker keeps a plugin's worker going.
func (o *Oracle) worker(owner string, w plugin.Worker) func(context.Context) error {
	return func(ctx context.Context) error {
		for {
			err := safely(ctx, w.Run)
			if ctx.Err() != nil {
				return nil //nolint:nilerr // the program stops, and the worker with it
			}
			o.log.Warn("a plugin's worker stopped; it is started again",
				slog.String("plugin", owner), slog.String("worker", w.Name), slog.Any("error", err))
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(workerPause):
			}
		}
	}
}

// safely turns a panic of a plugin into an error.
func safely(ctx context.Context, fn func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return fn(ctx)
}

// job runs a plugin's job on a schedule, on one node at a time.
func (o *Oracle) job(owner string, j plugin.Job) func(context.Context) error {
	safe := func(ctx context.Context) error { return safely(ctx, j.Run) }
	return func(ctx context.Context) error {
		if o.leases != nil {
			return o.leases.Every(ctx, "oracle/"+owner+"/job/"+j.Name, j.Every, func(ctx context.Context, _ lease.Lease) error { return safe(ctx) })
		}
		ticker := time.NewTicker(j.Every)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-ticker.C:
				if err := safe(ctx); err != nil {
					o.log.Warn("a plugin's job failed", slog.String("plugin", owner), slog.String("job", j.Name), slog.Any("error", err))
				}
			}
		}
	}
}

// sweep forgets expired plugin records and hidden sessions.
func (o *Oracle) sweep(ctx context.Context) error {
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if _, err := o.Store.Sweep(ctx, 500); err != nil && ctx.Err() == nil {
				return fmt.Errorf("sweep plugin records: %w", err)
			}
			if err := o.Service.DeleteExpired(ctx, 500); err != nil && ctx.Err() == nil {
				return fmt.Errorf("sweep hidden sessions: %w", err)
			}
		}
	}
}

// ParsePublic reads AUTH_EXCLUDED_ROUTES: a comma list of "METHOD /path" or "/path".
func ParsePublic(list []string) ([]plugin.RoutePattern, error) {
	var out []plugin.RoutePattern
	for _, entry := range list {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		method, path, both := strings.Cut(entry, " ")
		if !both {
			method, path = "", entry
		}
		path = strings.TrimSpace(path)
		if path == "" {
			return nil, errors.New("a route without a path")
		}
		if !strings.HasPrefix(path, "/") {
			path = "/" + path
		}
		out = append(out, plugin.RoutePattern{Method: strings.ToUpper(method), Path: path})
	}
	return out, nil
}
