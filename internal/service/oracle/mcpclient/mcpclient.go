// Package mcpclient lets the oracle use the tools of MCP servers over
// streamable HTTP.
//
// It promises that a server which is slow or away costs a turn a few seconds
// and its own tools, nothing else; that a protected tool runs only with the
// user's own single-use invocation for that very tool, which is used up before
// the call is made; that a user's credentials here never reach a server: only the
// headers that the operator configured do, or the token that the user has for that
// very server, which goes to its origin alone and with no redirect; that no error
// repeats a server's address, which may hold a key; and that memory and
// connections are bounded for each person, whatever their servers send. What servers say of their own tools
// (idempotent) is not believed, so none is run twice; that a tool is read only is, as
// far as it spares the user a question.
package mcpclient

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/recent"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/protocol/toolschema"
	"github.com/castalia-org/castalia/internal/service/oracle/agent"
	"github.com/castalia-org/castalia/internal/service/oracle/outbound"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/plugin"
)

// Invocations checks and uses up what users sent for protected tools:
// identity.Service.
type Invocations interface {
	UseInvocation(ctx context.Context, caller identity.Principal, server, tool, token string) error
}

// listFresh is how long a list of tools is believed.
const listFresh = 5 * time.Minute

// Config tunes an Engine. The zero value is what production uses.
type Config struct {
	// ListTimeout bounds finding out what a server offers: 5s.
	ListTimeout time.Duration
	// CallTimeout bounds one call of a server that sets no time itself: 60s.
	CallTimeout time.Duration
	Version     string
	// Transport, when set, serves every server; for servers in this process.
	Transport http.RoundTripper
}

// Engine connects to MCP servers.
type Engine struct {
	invocations Invocations
	log         *slog.Logger
	cfg         Config

	lists *recent.Map[[32]byte, listed]
	// elicits are the servers that put questions in the course of a call.
	elicits *recent.Map[[32]byte, struct{}]
	// held is what answers under way hold, looks and calls who asks servers now, by person.
	held         holdings
	looks, calls *ratelimit.Slots
}

// listed is what a server said of its tools, or that it did not answer.
type listed struct {
	tools []offered
	err   error
}

// offered is what is kept of a server's tool.
type offered struct {
	name, description string
	schema            json.RawMessage
	readOnly          bool
}

func (o offered) size() int { return len(o.name) + len(o.description) + len(o.schema) }

// Bounds of what a server may say: with one answer, of its tools, and what of
// all servers' tools is remembered.
const (
	maxReply = 8 << 20
	maxTools = 256
	maxList  = 512 << 10
	maxLists = 16 << 20
	// maxConns bounds the connections of a turn to one server: the calls of a step (agent.Limits), and what it is
	// answered meanwhile.
	maxConns = 48
	// maxLooks and maxCalls bound the lists and the calls of one person that are under way: each
	// is a connection that a server keeps open as long as it likes. More of that person wait.
	maxLooks = 16
	maxCalls = 64
	// maxElicits bounds the servers that are known to ask.
	maxElicits = 10_000
)

// sulk is how long a server that did not answer is not asked again, so that one
// which is away does not delay every turn.
const sulk = 30 * time.Second

var _ turn.MCP = (*Engine)(nil)

// New makes an engine.
func New(invocations Invocations, log *slog.Logger, cfg Config) *Engine {
	cfg.ListTimeout = cmp.Or(cfg.ListTimeout, 5*time.Second)
	cfg.CallTimeout = cmp.Or(cfg.CallTimeout, time.Minute)
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Engine{
		invocations: invocations, log: log, cfg: cfg, lists: recent.New[[32]byte, listed](maxLists),
		elicits: recent.New[[32]byte, struct{}](maxElicits),
		looks:   ratelimit.NewSlots(maxLooks), calls: ratelimit.NewSlots(maxCalls),
	}
}

// Tools lists the tools of the servers: see turn.MCP.
func (e *Engine) Tools(ctx context.Context, servers []plugin.MCPServer, u turn.MCPUser) ([]agent.Tool, func()) {
	lines := make([]*line, len(servers))
	found := make([][]agent.Tool, len(servers))
	var all sync.WaitGroup
	for i, s := range servers {
		lines[i] = &line{engine: e, server: s, owner: ownerOf(ctx, u.DID, s.URL)}
		all.Go(func() {
			tools, err := lines[i].list(ctx)
			if _, refused := errors.AsType[*plugin.MCPRefusedError](err); refused {
				e.log.Debug("an MCP server wants an authorization; its tools are left out", slog.String("event", "mcp.server_refuses"), slog.String("server", s.Name))
				return
			}
			if err != nil {
				e.log.Warn("an MCP server does not answer; its tools are left out", slog.String("event", "mcp.server_away"), slog.String("server", s.Name), slog.Any("error", err))
				return
			}
			for _, t := range tools {
				found[i] = append(found[i], e.tool(lines[i], t, u))
			}
		})
	}
	all.Wait()
	return slices.Concat(found...), func() {
		for _, l := range lines {
			l.close()
		}
	}
}

// Offers is what a server offers, by what it said a moment ago or says now: see
// oraclekit.MCP.
func (e *Engine) Offers(ctx context.Context, s plugin.MCPServer) ([]plugin.MCPTool, error) {
	l := &line{engine: e, server: s, owner: ownerOf(ctx, "", s.URL)}
	defer l.close()
	tools, err := l.list(ctx)
	if err != nil {
		return nil, shown(err)
	}
	out := make([]plugin.MCPTool, len(tools))
	for i, t := range tools {
		out[i] = plugin.MCPTool{Name: t.name, Description: t.description, ReadOnly: t.readOnly}
	}
	return out, nil
}

// shown is what people may read of a server that cannot be used. Of what is wrong
// inside the network of the deployment it says nothing.
func shown(err error) error {
	if refusal, ok := errors.AsType[*plugin.MCPRefusedError](err); ok {
		return refusal
	}
	text := "It cannot be reached, or does not speak MCP."
	_, nameless := errors.AsType[*net.DNSError](err)
	switch {
	case nameless || errors.Is(err, outbound.ErrPrivate): // one text: which names mean something here is nobody's business
		text = "It cannot be reached on the public internet."
	case errors.Is(err, context.DeadlineExceeded):
		text = "It did not answer in time."
	}
	return &plugin.Error{Status: http.StatusBadGateway, Message: text, Cause: err}
}

// Call runs one tool of one server without a turn.
func (e *Engine) Call(ctx context.Context, s plugin.MCPServer, tool string,
	args json.RawMessage,
) (plugin.Result, error) {
	l := &line{engine: e, server: s, owner: ownerOf(ctx, "", s.URL)}
	defer l.close()
	return l.call(ctx, tool, args, watch{limit: cmp.Or(s.Timeout, e.cfg.CallTimeout)})
}

// tool is a server's tool as the agent sees it.
func (e *Engine) tool(l *line, t offered, u turn.MCPUser) agent.Tool {
	limit := cmp.Or(l.server.Timeout, e.cfg.CallTimeout)
	name := l.server.Name + "__" + t.name
	return agent.Tool{Tool: plugin.Tool{
		Name: name, Description: t.description, Schema: t.schema,
		Timeout: min(progressFactor*limit, max(limit, longest)), ReadOnly: t.readOnly, Foreign: true,
		Run: func(ctx context.Context, rt *plugin.Runtime, args json.RawMessage) (plugin.Result, error) {
			w := watching(ctx, rt, limit)
			if l.server.Protected && w.answered == nil { // who asks again was let in before
				if err := e.permit(ctx, l.server.Name, t.name, name, u); err != nil {
					return plugin.Result{}, err
				}
			}
			return l.call(ctx, t.name, args, w)
		},
	}}
}

// permit uses up the user's invocation for one call.
func (e *Engine) permit(ctx context.Context, server, tool, name string, u turn.MCPUser) error {
	token := u.Invocations[name]
	if token == "" {
		return plugin.Errorf(http.StatusForbidden, "The tool %s is protected: it needs the user's own invocation (mcpInvocations) for each call. "+
			"Ask the user to allow it and to send the message again.", name)
	}
	if e.invocations == nil {
		return plugin.Errorf(http.StatusForbidden, "This deployment cannot check invocations.")
	}
	err := e.invocations.UseInvocation(ctx, identity.Principal{DID: u.DID, Root: u.DID}, server, tool, token)
	if err == nil {
		return nil
	}
	f := fault.From(err)
	if f.Kind == fault.Internal || f.Kind == fault.Unavailable {
		return fmt.Errorf("check invocation: %w", err)
	}
	return &plugin.Error{Status: http.StatusForbidden, Message: "The user's invocation for " + name + " was refused: " + f.Message, Cause: err}
}

// line is the connection of one turn to one server, made when it is needed.
type line struct {
	engine *Engine
	server plugin.MCPServer
	owner  string // whose answers count together
	// refusal is what the server said when it last refused; nil when it did not.
	refusal atomic.Pointer[plugin.MCPRefusedError]
	// shut says that the server did not take the headers that it is given.
	shut atomic.Bool
	// heard counts what the server said.
	heard heard
	// full says that an answer was too much beside others of the owner's.
	full atomic.Bool

	mu         sync.Mutex
	session    *mcp.ClientSession
	talks      map[string]*talk           // the calls under way
	given      map[string]json.RawMessage // what the person said, by its question
	open       *asked                     // what the server asked in the course of the only call
	openFor    string                     // which call that was
	rounds     int                        // how many questions the call has put that is made again
	progressed chan struct{}              // hears that the server was told that a call is stopped
	idle       func()                     // closes connections that nobody uses any more
}

// list returns the server's tools, from memory when they are fresh.
func (l *line) list(ctx context.Context) ([]offered, error) {
	e := l.engine
	key := l.key()
	if tools, known, err := l.recall(ctx, key); known {
		return tools, err
	}
	leave, err := e.looks.Take(ctx, l.owner)
	if err != nil {
		return nil, fmt.Errorf("wait for other lists: %w", err)
	}
	defer leave()
	if tools, known, err := l.recall(ctx, key); known { // another asked meanwhile
		return tools, err
	}
	tools, err := l.ask(ctx)
	if refusal := l.refusal.Load(); err != nil && refusal != nil {
		err = refusal
	}
	if ctx.Err() != nil || err != nil && l.full.Load() { // which is not the server's doing
		return tools, err
	}
	until := time.Now().Add(listFresh)
	if err != nil {
		until = time.Now().Add(sulk)
	}
	cost := 1 << 10
	for _, t := range tools {
		cost += t.size()
	}
	e.lists.Put(key, listed{tools: tools, err: err}, until, cost)
	return tools, err
}

// recall returns the server's tools from memory, if they are known there.
func (l *line) recall(ctx context.Context, key [32]byte) (tools []offered, known bool, err error) {
	was, known := l.engine.lists.Get(key, time.Now())
	if !known {
		return nil, false, nil
	}
	if refusal, refused := errors.AsType[*plugin.MCPRefusedError](was.err); refused && l.server.Access != nil {
		// It was somebody else who was refused; this user's access has not heard of it.
		if _, err := l.server.Access.Refused(ctx, "", refusal.Challenges); err != nil {
			return nil, true, err
		}
	}
	return was.tools, true, was.err
}

// ask lists the server's tools, as many as are kept.
func (l *line) ask(ctx context.Context) ([]offered, error) {
	ctx, cancel := context.WithTimeout(ctx, l.engine.cfg.ListTimeout)
	defer cancel()
	session, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	var tools []offered
	size := 0
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("list tools: %w", withoutAddress(err))
		}
		schema, err := json.Marshal(t.InputSchema)
		if err != nil {
			schema = nil
		}
		o := offered{
			name: t.Name, description: agent.Cap(t.Description, 2000), schema: schema,
			readOnly: t.Annotations != nil && t.Annotations.ReadOnlyHint,
		}
		if size += o.size(); len(tools) == maxTools || size > maxList {
			l.engine.log.Info("an MCP server offers more than is kept; the rest of its tools is left out", slog.String("event", "mcp.tools_cut"), slog.String("server", l.server.Name))
			break
		}
		tools = append(tools, o)
	}
	return tools, nil
}

// key tells servers apart by address, by where that may lead and by what they
// are told: a refusal to call a private address says nothing of a server that
// may be one.
func (l *line) key() [32]byte {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s\x00%t\x00", l.server.URL, l.server.AllowPrivate)
	if l.server.Access != nil {
		_, _ = fmt.Fprintf(h, "%s\x00", l.server.Access.Holder())
	}
	for _, name := range slices.Sorted(maps.Keys(l.server.Headers)) {
		_, _ = fmt.Fprintf(h, "%s\x00%s\x00", name, l.server.Headers[name])
	}
	return [32]byte(h.Sum(nil))
}

func (l *line) connect(ctx context.Context) (*mcp.ClientSession, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session != nil {
		return l.session, nil
	}
	redirects := 3
	if holds(l.server) {
		redirects = 0
	}
	client := outbound.Client(outbound.Config{
		AllowPrivate: l.server.AllowPrivate, MaxRedirects: redirects, MaxConns: maxConns,
	})
	next := client.Transport
	l.idle = closeIdle(next)
	if l.engine.cfg.Transport != nil {
		next = l.engine.cfg.Transport
	}
	l.progressed = make(chan struct{}, 1)
	client.Transport = transport{
		next: next, server: l.server, refused: l.refusal.Store, shut: func() { l.shut.Store(true) }, stopped: l.progressed,
		heard: &l.heard, held: &l.engine.held, owner: l.owner, full: func() { l.full.Store(true) },
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "castalia", Version: l.engine.cfg.Version},
		&mcp.ClientOptions{
			Capabilities: &mcp.ClientCapabilities{
				Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}},
			},
			ElicitationHandler: l.elicit, ProgressNotificationHandler: l.progress,
			MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}, // the person takes longer than a request
		})
	session, err := c.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: l.server.URL, HTTPClient: client, MaxRetries: -1, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", withoutAddress(err))
	}
	l.session = session
	return session, nil
}

// close ends the connection, without the lock: it waits for what the server still tells.
func (l *line) close() {
	l.mu.Lock()
	session, idle := l.session, l.idle
	l.session = nil
	l.mu.Unlock()
	if session != nil {
		_ = session.Close()
	}
	if idle != nil {
		idle()
	}
}

// leave lets the next call connect anew. The connection ends when the calls have that are
// still made by it, for which nobody waits here.
func (l *line) leave(session *mcp.ClientSession) {
	l.mu.Lock()
	idle := l.idle
	if l.session == session {
		l.session = nil
	}
	l.mu.Unlock()
	go func() {
		_ = session.Close()
		idle()
	}()
}

// call runs a tool. What the server reports as an error is told to the model. A call to
// a server that asks has a connection of its own: questions do not say whose they are.
func (l *line) call(ctx context.Context, tool string, args json.RawMessage, w watch) (plugin.Result, error) {
	leave, err := l.engine.calls.Take(ctx, l.owner)
	if err != nil {
		return plugin.Result{}, fmt.Errorf("wait for other calls: %w", err)
	}
	defer leave()
	if _, asks := l.engine.elicits.Get(l.key(), time.Now()); asks || w.answered != nil {
		own := &line{engine: l.engine, server: l.server, owner: l.owner}
		defer own.close()
		l = own
	}
	params := &mcp.CallToolParams{Name: tool, Arguments: args}
	if w.answered != nil {
		if err := l.resume(w.answered, params); err != nil {
			return plugin.Result{}, err
		}
	}
	l.refusal.Store(nil)
	l.shut.Store(false)
	session, err := l.connect(ctx)
	if refusal := l.refusal.Load(); err != nil && refusal != nil {
		return plugin.Result{}, plugin.Errorf(http.StatusUnauthorized, "%s", refusal.Error())
	}
	if err != nil && l.shut.Load() {
		return plugin.Result{}, plugin.Errorf(http.StatusForbidden, "The MCP server %s refuses its access.", l.server.Name)
	}
	if err != nil {
		return plugin.Result{}, plugin.Errorf(http.StatusBadGateway, "The MCP server %s does not answer.", l.server.Name)
	}
	token := cmp.Or(w.id, "call") + "-" + rand.Text()
	params.SetProgressToken(token)
	ctx, end := l.begin(ctx, token, w.limit, w.show)
	defer end()
	result, err := session.CallTool(ctx, params)
	if open := l.takeOpen(token); open != nil {
		return plugin.Result{}, l.put(*open, questions{Key: open.key(), Given: l.given})
	}
	if err != nil {
		if ctx.Err() != nil {
			l.awaitTold()
		}
		l.leave(session)
		if refusal := l.refusal.Load(); refusal != nil {
			return plugin.Result{}, plugin.Errorf(http.StatusUnauthorized, "%s", refusal.Error())
		}
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			return plugin.Result{}, context.DeadlineExceeded
		}
		return plugin.Result{}, fmt.Errorf("call %s: %w", tool, withoutAddress(err))
	}
	if result.NeedsInput() {
		return plugin.Result{}, l.askedBy(result)
	}
	text := textOf(result)
	if result.IsError {
		status := http.StatusUnprocessableEntity
		if unreached, _ := result.Meta[toolschema.Unreached].(bool); unreached {
			status = http.StatusForbidden
		}
		return plugin.Result{}, plugin.Errorf(status, "%s", agent.Cap(text, 4<<10))
	}
	return plugin.Text(text), nil
}

// textOf is what a model can read of a result.
func textOf(r *mcp.CallToolResult) string {
	var parts []string
	for _, c := range r.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			parts = append(parts, c.Text)
		case *mcp.ResourceLink:
			parts = append(parts, "["+c.Name+"]("+c.URI+")")
		case *mcp.EmbeddedResource:
			if c.Resource != nil {
				parts = append(parts, c.Resource.Text)
			}
		default:
			parts = append(parts, "[something that is not text]")
		}
	}
	if len(parts) == 0 && r.StructuredContent != nil {
		if data, err := json.Marshal(r.StructuredContent); err == nil {
			return string(data)
		}
	}
	return strings.Join(parts, "\n")
}
