// Package oraclekit puts the oracle's parts together, for the program and for
// tests alike.
//
// It promises that what it returns fits: one store under everything, one engine
// per process, plugins started in order. It chooses nothing itself: what a
// deployment has is handed in.
//
// Decisions: ADR 0155, ADR 0224.
package oraclekit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/lease"
	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/platform/sealing"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/coldstore"
	"github.com/castalia-org/castalia/internal/service/oracle/face"
	"github.com/castalia-org/castalia/internal/service/oracle/face/aguiface"
	"github.com/castalia-org/castalia/internal/service/oracle/face/facehttp"
	"github.com/castalia-org/castalia/internal/service/oracle/face/mcpface"
	"github.com/castalia-org/castalia/internal/service/oracle/face/openaiface"
	"github.com/castalia-org/castalia/internal/service/oracle/face/uistreamface"
	"github.com/castalia-org/castalia/internal/service/oracle/instructions"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclehttp"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/outbound"
	"github.com/castalia-org/castalia/internal/service/oracle/registry"
	"github.com/castalia-org/castalia/internal/service/oracle/reporthttp"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
	"github.com/castalia-org/castalia/internal/service/oracle/talksearch"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/internal/service/oracle/usage"
	"github.com/castalia-org/castalia/plugin"
)

// Deps is what a deployment has. Everything that is nil is left out.
type Deps struct {
	DB *sqldb.DB
	// Blobs has the larger parts of the index of conversations; nil has no index.
	Blobs blob.Store
	// Cold brings back conversations that nobody used for long; nil brings none.
	Cold     coldstore.Thawer
	Bus      bus.Bus
	Leases   *lease.Keeper
	Identity *identity.Service
	Oracle   oracle.Identity
	// Name is what the oracle is called now; nil is the name of Oracle.
	Name     func() string
	Provider model.Provider

	Plugins  []plugin.Plugin
	Features map[string]registry.Feature
	Fill     func(pluginName string, into any) error

	// Heartbeat is how often a silent stream says that it is alive; zero is the default.
	Heartbeat time.Duration
	// AgentWait is how long agents wait for an answer; zero is the default.
	AgentWait time.Duration
	// BaseURL is where people reach this deployment; empty is as the server knows.
	BaseURL string
	// Parting is how long the end of an aborted stream is held back; zero is the default.
	Parting time.Duration

	// Outbox, when set, hears of sessions, runs and what plugins tell.
	Outbox oraclesql.Outbox
	// SealKey guards what plugins seal: 32 bytes that do not change.
	SealKey []byte
	// Guesses counts wrong secrets at routes of plugins; nil counts nothing.
	Guesses oraclehttp.Guesses

	// Socket makes the gateway for open pages, which must know whose a session is.
	Socket      func(owners oracle.SessionChecker) (oracle.Publisher, oracle.Dispatcher, error)
	Access      turn.Access
	Attachments turn.Attachments
	MCP         MCP
	// SessionGone, when set, is told of a session that was deleted.
	SessionGone func(ctx context.Context, sessionID string)

	Authenticate func(httpserver.Handler) httpserver.Handler
	// Face lets programs in by other wires; nil is Authenticate.
	Face func(httpserver.Handler) httpserver.Handler
	// FaceSecurity names the ways in there, for the documentation.
	FaceSecurity []string
	CORS         httpserver.CORSPolicy
	// Public are METHOD path pairs that need no credentials.
	Public []plugin.RoutePattern

	// Instructions are what the operator tells the oracle; nil tells nothing.
	Instructions func() instructions.Instructions
	// Suggest has questions to begin with, where the instructions have none; nil has
	// those that every oracle answers.
	Suggest func(ctx context.Context) ([]instructions.Opening, error)
	// Measures are what people may have in a day.
	Measures oracle.Measures
	// Budgets are those of app keys; nil has none.
	Budgets turn.Budgets
	// Admit is asked about people in whose name plugins speak: see turn.Turns.
	Admit func(ctx context.Context, userDID string) error

	Run  run.Config
	Turn turn.Config
	Log  *slog.Logger
	// Metrics takes figures for operators; nil takes none.
	Metrics *telemetry.Metrics
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// MCP is what turns and plugins use of MCP servers; *mcpclient.Engine is one.
type MCP interface {
	turn.MCP
	// Offers is what plugin.Host.MCPTools promises, but for Asks.
	Offers(ctx context.Context, s plugin.MCPServer) ([]plugin.MCPTool, error)
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
	// Faces are the oracle for others: by their wires, and its numbers for operators.
	Faces []httpserver.Surface
	// Agents is the oracle for agents, which share an address with other services.
	Agents   *mcpface.Face
	http     oraclehttp.Deps
	titler   *turn.Titler
	search   *talksearch.Service
	usage    *usage.Recorder
	pages    oracle.Publisher // nil without a socket gateway
	leases   *lease.Keeper
	identity oracle.Identity
	provider model.Provider
	sealKey  []byte
	mcp      MCP // nil without MCP servers
	asks     bool
	baseURL  string
	log      *slog.Logger
}

// New builds an oracle on a migrated database. Start the plugins with
// StartPlugins and run the Workers.
func New(d Deps) (*Oracle, error) {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	o := &Oracle{
		Store: oraclesql.New(d.DB).WithOutbox(d.Outbox).WithCold(d.Cold), leases: d.Leases, identity: d.Oracle,
		provider: d.Provider, sealKey: d.SealKey, log: d.Log,
		mcp: d.MCP, asks: d.Turn.ApproveMCP, baseURL: strings.TrimSuffix(d.BaseURL, "/"),
	}
	o.search = talksearch.New(talksearch.Deps{
		Store: o.Store, Blobs: d.Blobs, Sealer: sealing.Sealer{Key: d.SealKey, Purpose: "castalia index of conversations"}, Log: d.Log, Now: d.Now,
	})
	o.usage = usage.NewRecorder(o.Store, d.Log)
	if d.Metrics != nil {
		o.usage.Measure(d.Metrics)
	}
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
		Store: o.Store, Provider: d.Provider, Plugins: o.Plugins, Identity: d.Oracle, Name: d.Name, Access: d.Access,
		Attachments: d.Attachments,
		Ledger:      o.Store, Budgets: d.Budgets, Meter: o.usage, Approvals: o.Store, Log: d.Log, Config: d.Turn,
	}
	if d.MCP != nil {
		td.MCP = d.MCP
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
		Service: o.Service, Search: o.search, Turns: o.Turns, Engine: o.Engine, Worker: o.Worker, Plugins: o.Plugins,
		Provider: d.Provider,
		Nudges:   o.Store.PluginStore("castalia.oracle"), Authenticate: d.Authenticate, CORS: d.CORS, Public: d.Public, Guesses: d.Guesses,
		Heartbeat: d.Heartbeat, Parting: d.Parting, Openings: openings, Suggest: d.Suggest, Log: d.Log,
	}
	if d.Identity != nil {
		hd.Delegations = d.Identity
	}
	o.http = hd
	o.Surface, err = oraclehttp.Surface(hd)
	o.Faces = append(o.faces(d),
		reporthttp.Surface(reporthttp.Deps{
			Feedback: o.Service, Usage: o.Store, Credits: o.credits(), Authenticate: d.Authenticate, CORS: d.CORS, Now: d.Now,
		}))
	return o, err
}

// credits is the plugin that keeps accounts, if one is on.
func (o *Oracle) credits() reporthttp.Credits {
	for _, l := range o.Plugins.Loaded() {
		if c, ok := l.Plugin.(reporthttp.Credits); ok {
			return c
		}
	}
	return nil
}

// faces makes the oracle by the wires of others, behind the same gates.
func (o *Oracle) faces(d Deps) []httpserver.Surface {
	if d.Face == nil {
		d.Face = d.Authenticate
	}
	f := face.New(face.Deps{
		Service: o.Service, Turns: o.Turns, Engine: o.Engine, Provider: d.Provider, Marks: o.Store.PluginStore(face.Store),
		Heartbeat: d.Heartbeat, Log: d.Log,
	})
	o.Agents = mcpface.New(mcpface.Deps{
		Faces: f, Service: o.Service, Gate: oraclehttp.Gate(o.http, httpserver.Route{Method: "POST", Pattern: "/mcp"}),
		Openings: o.http.Openings,
		Wait:     d.AgentWait, BaseURL: d.BaseURL, Log: d.Log,
	})
	fd := facehttp.Deps{Faces: f, Authenticate: d.Face, CORS: d.CORS}
	all := []httpserver.Surface{openaiface.Surface(fd), aguiface.Surface(fd), uistreamface.Surface(fd)}
	for i := range all {
		for j := range all[i].Routes {
			all[i].Routes[j].Security = d.FaceSecurity
		}
		all[i] = o.Gated(all[i])
	}
	return all
}

// Gated puts the plugins' gates in front of another surface of the oracle's.
func (o *Oracle) Gated(s httpserver.Surface) httpserver.Surface { return oraclehttp.Gated(o.http, s) }

// StartPlugins tells the plugins that the oracle is up.
func (o *Oracle) StartPlugins(ctx context.Context) error {
	words := sync.OnceValue(analyse.Everyday)
	rank := func(ctx context.Context, query string, texts []string, limit int) ([]int, error) {
		return textindex.Rank(ctx, query, texts, limit, words())
	}
	return o.Plugins.Start(ctx, func(name string) plugin.Host {
		sealed := sealing.Sealer{Key: o.sealKey, Purpose: "castalia plugin " + name}
		return plugin.Host{
			Store: o.Store.PluginStore(name), Log: o.log.With(slog.String("plugin", name)),
			OracleDID: o.identity.DID, OracleName: o.identity.Name, Exclusive: o.exclusive(name),
			Conversations: o.Turns.Named(name), BaseURL: o.baseURL,
			DialPublic: outbound.Dialer(false).DialContext, MCPTools: o.mcpTools,
			Seal: sealed.Seal, Unseal: sealed.Unseal, Rank: rank,
			Shared: func(ctx context.Context, key string) (any, error) {
				return o.Plugins.Shared(ctx, o.Worker.Runtime(ctx, turn.Scene{}), key)
			},
		}
	})
}

// mcpTools is plugin.Host.MCPTools.
func (o *Oracle) mcpTools(ctx context.Context, s plugin.MCPServer) ([]plugin.MCPTool, error) {
	if o.mcp == nil {
		return nil, plugin.Errorf(503, "This oracle does not use MCP servers.")
	}
	tools, err := o.mcp.Offers(ctx, s)
	for i := range tools {
		tools[i].Asks = o.asks && !tools[i].ReadOnly
	}
	return tools, err
}

// exclusive is plugin.Host.Exclusive for one plugin.
func (o *Oracle) exclusive(owner string) func(context.Context, string, time.Duration,
	func(context.Context) error) (bool, error) {
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
		"runs": o.Engine.Run, "titles": o.titler.Run, "sweep": o.sweep, "usage": o.usage.Run, "search": o.search.RunIndexer,
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
			err := pace.Guard(func() error { return w.Run(ctx) })
			if ctx.Err() != nil {
				return nil //nolint:nilerr // the program stops, and the worker with it
			}
			o.log.Warn("a plugin's worker stopped; it is started again", slog.String("event", "plugin.worker_stopped"),
				slog.String("plugin", owner), slog.String("worker", w.Name), slog.Any("error", err), pace.Stack(err))
			if pace.Sleep(ctx, workerPause) != nil {
				return nil //nolint:nilerr // as above
			}
		}
	}
}

// job runs a plugin's job on a schedule, on one node at a time.
func (o *Oracle) job(owner string, j plugin.Job) func(context.Context) error {
	once := func(ctx context.Context) {
		err := pace.Guard(func() error { return j.Run(ctx) })
		if err != nil {
			o.log.Warn("a plugin's job failed", slog.String("event", "plugin.job_failed"), slog.String("plugin", owner),
				slog.String("job", j.Name), slog.Any("error", err), pace.Stack(err))
		}
	}
	return func(ctx context.Context) error {
		if o.leases != nil {
			return o.leases.Every(ctx, "oracle/"+owner+"/job/"+j.Name, j.Every, func(ctx context.Context, _ lease.Lease) error {
				once(ctx)
				return nil
			})
		}
		pace.Every(ctx, j.Every, func() bool {
			once(ctx)
			return true
		})
		return nil
	}
}

// sweepSlice is how many records are forgotten at once.
const sweepSlice = 500

// sweep forgets expired plugin records and hidden sessions, slice by slice until none
// is left.
func (o *Oracle) sweep(ctx context.Context) error {
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			for more := true; more; {
				var err error
				if more, err = o.Store.Sweep(ctx, sweepSlice); err != nil && ctx.Err() == nil {
					return fmt.Errorf("sweep plugin records: %w", err)
				}
			}
			if err := o.Service.DeleteExpired(ctx, sweepSlice); err != nil && ctx.Err() == nil {
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
