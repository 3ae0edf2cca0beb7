// Package oraclesocket is the oracle's socket.io gateway, on the namespace "/".
//
// A socket belongs to one session of one user: the handshake names the session
// in its query and carries a credential in its auth object, by the same rules
// as HTTP; anything else is refused at once with a reason and closed. What the
// client claims about itself is never believed. Events go to the room of the
// session on every node, over the bus, in the hybrid form that all clients
// read; they are hints, and pages that may have missed one, since the bus was
// away or they read too slowly, are told to read the transcript again. A call
// to a page goes bare to exactly one socket, once, and only that socket's
// answer counts. When a token is revoked or expires its sockets are closed.
//
// The gateway stores nothing, runs nothing, and knows the oracle only by
// the interfaces of its root package.
//
// Decision: ADR 0017.
package oraclesocket

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/protocol/socketio"
	"github.com/castalia-org/castalia/internal/protocol/socketio/engineio"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

// Guard decides who connects, and tells when that ends.
type Guard interface {
	// Authenticate verifies the credentials of a handshake that came from an
	// address. Its errors are faults whose public text is shown to the client.
	Authenticate(ctx context.Context, from netip.Addr, c identity.Credentials) (identity.Principal, error)
	// OnEnd calls end when the principal's token is revoked or expires.
	OnEnd(p identity.Principal, end func()) (stop func())
}

// Deps is what a Gateway needs.
type Deps struct {
	Guard    Guard
	Sessions oracle.SessionChecker
	Bus      bus.Bus
	Logger   *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Config says how a Gateway behaves. Zero values mean the defaults.
type Config struct {
	// Node names this node, uniquely in the fleet.
	Node string
	// NodeURL is where the other nodes reach this one; empty means that polling
	// requests of this node's sessions must come to this node.
	NodeURL string
	// Alone says that there is no other node, so that nobody is asked.
	Alone bool
	// AskWindow is how long a node waits for the others to say which pages they
	// have: 100 ms. While nobody has any it waits five times as long.
	AskWindow time.Duration
	// Mend is how often a node looks whether hints were lost: every second.
	Mend time.Duration
	// MaxPerUser bounds the sockets of one user on this node: 100.
	MaxPerUser int
	// MaxCalls bounds the unanswered calls of one user: 256.
	MaxCalls int
	// Events counts the questions of a socket (ping, status, list-events,
	// subscribe) by user; nil counts nothing.
	Events *ratelimit.Limiter
	// Engine is handed on; its SessionID, Info and Foreign are the gateway's own.
	Engine engineio.Config
}

// Gateway is the server. It is an oracle.Publisher and an oracle.Dispatcher.
type Gateway struct {
	deps   Deps
	cfg    Config
	tag    string
	server *socketio.Server
	all    *socketio.Namespace
	calls  calls
	asks   asks
	peers  peers

	drain sync.Once
	live  atomic.Pointer[oracle.CallHandler]
	// answers takes approvals; nil until TakeAnswers.
	answers atomic.Pointer[oracle.AnswerHandler]
	// lost says that hints of this node may not have reached the others, stale
	// that pages of this node may have missed some.
	lost, stale atomic.Bool

	mu    sync.Mutex
	rooms map[string]*room
	users map[string]*user
	subs  []bus.Subscription
}

var (
	_ oracle.Publisher     = (*Gateway)(nil)
	_ oracle.Dispatcher    = (*Gateway)(nil)
	_ oracle.SessionCloser = (*Gateway)(nil)
	_ oracle.PageEmitter   = (*Gateway)(nil)
)

// user is what one node holds for a user.
type user struct {
	sockets  int
	sessions map[string]int
}

// New returns a gateway. Serve its routes and call Run.
func New(d Deps, cfg Config) *Gateway {
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if cfg.AskWindow <= 0 {
		cfg.AskWindow = 100 * time.Millisecond
	}
	if cfg.Mend <= 0 {
		cfg.Mend = time.Second
	}
	if cfg.MaxPerUser <= 0 {
		cfg.MaxPerUser = 100
	}
	if cfg.MaxCalls <= 0 {
		cfg.MaxCalls = 256
	}
	cfg.Engine.Jitter = cmp.Or(cfg.Engine.Jitter, 0.2)
	g := &Gateway{deps: d, cfg: cfg, tag: tagOf(cfg.Node), rooms: make(map[string]*room), users: make(map[string]*user)}
	g.calls.init()
	g.asks.waiting = make(map[string]chan<- presence)
	g.peers.init()
	engine := cfg.Engine
	engine.SessionID = func() string { return g.tag + engineio.NewID() }
	engine.Info = clientOf
	engine.Origin = originOf
	engine.MaxUnproven = cmp.Or(engine.MaxUnproven, 1000)
	engine.Foreign = g.foreign
	engine.Logger = d.Logger
	g.server = socketio.New(socketio.Config{
		Engine: engine, ConnectTimeout: 20 * time.Second, MaxNamespaces: 1, MaxConnect: maxConnect, Logger: d.Logger,
	})
	g.all = g.server.Of("/", (*handler)(g))
	return g
}

// maxConnect is a handshake with two tokens, each as long as text of one may be, and
// the names of their members.
const maxConnect = 4*ucan.MaxBytes + 1<<10

// tagLength is how many characters of a session id name its node.
const tagLength = 8

// tagOf shortens a node's name to a word that is safe in URLs and subjects.
func tagOf(node string) string {
	sum := sha256.Sum256([]byte(node))
	return base64.RawURLEncoding.EncodeToString(sum[:])[:tagLength]
}

// Run answers the other nodes until ctx ends, and then closes all sockets:
// their clients come back by themselves, to another node.
func (g *Gateway) Run(ctx context.Context) error {
	if err := g.listen(); err != nil {
		g.silence()
		return err
	}
	if !g.cfg.Alone {
		g.mend(ctx)
	}
	<-ctx.Done()
	g.shutdown(context.WithoutCancel(ctx))
	g.silence()
	g.peers.transport.CloseIdleConnections()
	return nil
}

const shutdownTime = 5 * time.Second

func (g *Gateway) shutdown(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, shutdownTime)
	defer cancel()
	if h := g.live.Load(); h != nil {
		(*h).Drain(ctx) // while the pages can still be told
	}
	if err := g.server.Shutdown(ctx); err != nil {
		g.deps.Logger.Warn("sockets were cut: their clients did not take what was queued", slog.String("event", "socket.slow_clients_cut"), slog.Any("error", err))
	}
}

// listen subscribes to what the other nodes ask of this one.
func (g *Gateway) listen() error {
	inbox, err := g.deps.Bus.Subscribe(inboxOf(g.tag), g.receive)
	if err != nil {
		return err
	}
	g.keep(inbox)
	desk, err := g.deps.Bus.Respond(deskOf(g.tag), g.answer)
	if err != nil {
		return err
	}
	g.keep(desk)
	if !g.cfg.Alone {
		lapses, err := g.deps.Bus.Subscribe(lapseSubject, g.lapsed)
		if err != nil {
			return err
		}
		g.keep(lapses)
	}
	return g.announce()
}

func (g *Gateway) keep(s bus.Subscription) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.subs = append(g.subs, s)
}

func (g *Gateway) silence() {
	g.mu.Lock()
	subs := g.subs
	g.subs = nil
	g.mu.Unlock()
	for _, s := range subs {
		if err := s.Unsubscribe(); err != nil {
			g.deps.Logger.Warn("a bus subscription could not be ended", slog.String("event", "socket.unsubscribe_failed"), slog.Any("error", err))
		}
	}
}

// Stats is a snapshot for metrics.
type Stats struct {
	engineio.Stats
	Sockets, Rooms, PendingCalls int
}

// Stats returns the counters of this node.
func (g *Gateway) Stats() Stats {
	return Stats{Stats: g.server.Stats(), Sockets: g.all.Len(), Rooms: g.all.Rooms(), PendingCalls: g.calls.len()}
}
