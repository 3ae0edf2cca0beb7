package oraclesocket

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/protocol/socketio"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/plugin/strictjson"
)

// page is the gateway's side of one socket: an open page of a session.
type page struct {
	did     string
	session string
	tab     string       // how the page names itself, if it does
	active  atomic.Int64 // when the client last did something, in Unix milliseconds
	stop    func()       // of Guard.OnEnd; set before Connected returns
	// token names the invocation with which the page came; empty when it came with
	// a credential that others may hold too.
	token string
	// principal is dropped once the end of its token is being watched.
	principal *identity.Principal
}

func pageOf(s *socketio.Socket) *page {
	p, _ := s.Data.(*page)
	return p
}

// clientOf keeps of the handshake request what a refusal may need.
func clientOf(r *http.Request) any { return httpserver.ClientIP(r.Context()) }

// originOf counts handshakes by address.
func originOf(r *http.Request) string {
	if from := httpserver.ClientIP(r.Context()); from.IsValid() {
		return from.String()
	}
	return ""
}

// handler is the gateway as a socketio.Handler.
type handler Gateway

func (h *handler) gateway() *Gateway { return (*Gateway)(h) }

// maxSessionID is what any session id could be; the store looks closer.
const maxSessionID = 255

// Connect implements socketio.Handler: it refuses, or binds the socket to the
// user and the session.
func (h *handler) Connect(s *socketio.Socket, auth json.RawMessage) error {
	g := h.gateway()
	session := s.Session().Query().Get("sessionId")
	if session == "" || len(session) > maxSessionID {
		return refusal(fault.New(fault.Invalid, "Missing sessionId"))
	}
	var given struct {
		Invocation     string `json:"invocation"`
		UCANDelegation string `json:"ucanDelegation"`
	}
	if err := strictjson.Unmarshal(auth, &given); err != nil {
		return refusal(fault.Wrap(fault.Unauthenticated, "Invalid UCAN invocation", err))
	}
	from, _ := s.Session().Info().(netip.Addr)
	p, err := g.deps.Guard.Authenticate(s.Context(), from, identity.Handshake(given.Invocation, given.UCANDelegation))
	if err != nil {
		return g.refuse(err)
	}
	if err := g.deps.Sessions.CheckSession(s.Context(), p.DID, session); err != nil {
		return g.refuse(err)
	}
	if !g.admit(p.DID) {
		return refusal(fault.New(fault.RateLimited, "Too many open connections"))
	}
	data := &page{did: p.DID, session: session, principal: &p}
	if tab := s.Session().Query().Get("tabId"); len(tab) <= oracle.MaxTab {
		data.tab = tab
	}
	if p.InPerson() {
		data.token = p.TokenCID
	}
	data.active.Store(g.deps.Now().UnixMilli())
	s.Data = data
	return nil
}

// refuse logs what is our own failure, and hides it.
func (g *Gateway) refuse(err error) error {
	if f := fault.From(err); f.Kind == fault.Internal {
		g.deps.Logger.Error("a handshake could not be decided", slog.String("event", "socket.handshake_failed"), slog.Any("error", err))
	}
	return refusal(err)
}

// refusal is packet 44, and then the close.
func refusal(err error) error {
	f := fault.From(err)
	data := map[string]any{"statusCode": httpserver.Status(f.Kind)}
	if f.Code != "" {
		data["code"] = f.Code
	}
	if f.RetryAfter > 0 {
		data["retryAfter"] = int(f.RetryAfter.Round(time.Second) / time.Second)
	}
	return &socketio.RefusalError{Message: f.Message, Data: data, Close: true}
}

// Connected implements socketio.Handler.
func (h *handler) Connected(s *socketio.Socket) {
	g, p := h.gateway(), pageOf(s)
	g.enter(s, p)
	if !g.cfg.Alone {
		// What other nodes say from here on is heard, and what they said before is
		// in the transcript. While the bus is away its return says so: see mend.
		_ = g.deps.Bus.Ping(s.Context())
	}
	principal := *p.principal
	p.principal = nil
	p.stop = g.deps.Guard.OnEnd(principal, s.Drop)
	g.emit(s, oracle.EventConnected, map[string]any{"message": "Connected successfully"})
}

// Disconnect implements socketio.Handler.
func (h *handler) Disconnect(s *socketio.Socket, _ socketio.Reason) {
	g, p := h.gateway(), pageOf(s)
	p.stop()
	g.leave(p)
	g.calls.lose(s.ID())
}

// Event implements socketio.Handler. Events that nobody knows are ignored, as
// other servers do, but acknowledged.
func (h *handler) Event(s *socketio.Socket, e *socketio.Event) {
	g, p := h.gateway(), pageOf(s)
	p.active.Store(g.deps.Now().UnixMilli())
	switch name := oracle.EventName(e.Name); name {
	case oracle.ClientToolResult:
		g.settle(s, e, oracle.BrowserTool)
		return
	case oracle.ClientActionCallResult:
		g.settle(s, e, oracle.Action)
		return
	case oracle.ClientCallOffer, oracle.ClientCallICE, oracle.ClientCallEnd, oracle.ClientCallRenew:
		g.signal(s, p, name, e)
		return
	case oracle.ClientApprovalAnswer:
		g.takeAnswer(s, p, e)
		return
	default:
		if ok, _ := g.cfg.Events.Allow(ratelimit.KeyOf(p.did)); ok {
			g.reply(s, p, name)
		}
	}
	if e.WantsAck() {
		_ = e.Ack() // a socket that goes needs none
	}
}

// reply answers the questions of a socket.
func (g *Gateway) reply(s *socketio.Socket, p *page, name oracle.EventName) {
	switch name {
	case oracle.ClientPing:
		g.emit(s, oracle.EventPong, map[string]any{})
	case oracle.ClientSubscribe:
		g.emit(s, oracle.EventSubscribed, map[string]any{})
	case oracle.ClientStatus:
		sessions, sockets := g.count(p.did)
		g.emit(s, oracle.EventStatus, map[string]any{"connected": true, "activeSessions": sessions, "totalConnections": sockets})
	case oracle.ClientListEvents:
		g.emit(s, oracle.EventAvailableEvents, map[string]any{"clientEvents": oracle.ClientEvents(), "serverEvents": oracle.ServerEvents()})
	}
}

// timeFormat is how events tell the time.
const timeFormat = "2006-01-02T15:04:05.000Z07:00"

// emit sends an event of the gateway itself to one socket.
func (g *Gateway) emit(s *socketio.Socket, name oracle.EventName, payload map[string]any) {
	payload["sessionId"] = pageOf(s).session
	payload["timestamp"] = g.deps.Now().UTC().Format(timeFormat)
	raw, err := json.Marshal(payload)
	if err == nil {
		raw, err = oracle.Event{Name: name, Payload: raw}.Hybrid()
	}
	if err != nil {
		g.deps.Logger.Error("an event could not be encoded", slog.String("event", "socket.encode_failed"), slog.String("socket_event", string(name)), slog.Any("error", err))
		return
	}
	_ = s.Emit(string(name), json.RawMessage(raw)) // a socket that goes needs none
}

// admit reports whether the user may open one more socket here.
func (g *Gateway) admit(did string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	u := g.users[did]
	return u == nil || u.sockets < g.cfg.MaxPerUser
}

// count tells a user about their own sockets on this node, and nobody else's.
func (g *Gateway) count(did string) (sessions, sockets int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if u := g.users[did]; u != nil {
		return len(u.sessions), u.sockets
	}
	return 0, 0
}
