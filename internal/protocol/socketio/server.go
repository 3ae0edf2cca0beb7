package socketio

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/socketio/engineio"
)

// Server is an http.Handler that serves Socket.IO on whatever path it is
// mounted; clients expect /socket.io/. Call New, then Of, then serve.
type Server struct {
	cfg        Config
	engine     *engineio.Server
	namespaces map[string]*Namespace
}

// New returns a server without namespaces.
func New(cfg Config) *Server {
	cfg = cfg.withDefaults()
	s := &Server{cfg: cfg, namespaces: make(map[string]*Namespace)}
	s.engine = engineio.New(cfg.Engine, s.accept)
	return s
}

// Of creates the namespace of that name ("/" is the one that clients join by
// default). All namespaces must be created before the first request.
func (s *Server) Of(name string, h Handler) *Namespace {
	n := &Namespace{
		server: s, name: name, handler: h,
		sockets: make(map[string]*Socket),
		rooms:   make(map[string]map[*Socket]struct{}),
	}
	s.namespaces[name] = n
	return n
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.engine.ServeHTTP(w, r) }

// Stats returns the counters of the Engine.IO server.
func (s *Server) Stats() engineio.Stats { return s.engine.Stats() }

// Shutdown ends all connections. Clients see the transport close, and come back
// by themselves to whoever serves them next.
func (s *Server) Shutdown(ctx context.Context) error { return s.engine.Shutdown(ctx) }

func (s *Server) accept(session *engineio.Session) engineio.Receiver {
	c := &client{
		server: s, session: session, decoder: Decoder{MaxBytes: maxAttachmentBytes, MaxConnect: s.cfg.MaxConnect},
	}
	c.timer = time.AfterFunc(s.cfg.ConnectTimeout, session.Close)
	return c
}

// client is one connection with its sockets, one for each namespace it joined.
type client struct {
	server  *Server
	session *engineio.Session

	mu      sync.Mutex
	decoder Decoder
	due     *time.Timer // until the next attachment, while some are due
	timer   *time.Timer // until the first namespace is joined
	sockets []*Socket
	left    []string // namespaces that were joined before: late packets are no offence
	cancel  context.CancelFunc
	closed  bool
}

// Message implements engineio.Receiver.
func (c *client) Message(m engineio.Message) []engineio.Frame {
	p, ok, err := c.decode(m)
	if err != nil {
		c.session.Close()
		return nil
	}
	if !ok {
		return nil
	}
	if p.Type == Connect {
		onOwnStack(func() { c.connect(p) })
		return nil
	}
	s, known := c.socket(p.Namespace)
	if s == nil {
		if !known {
			c.session.Close()
		}
		return nil
	}
	switch p.Type {
	case EventPacket, BinaryEvent:
		e := &Event{
			Name: unquote(p.Args[0]), Args: p.Args[1:], Attachments: p.Attachments, socket: s, id: p.ID, hasID: p.HasID,
		}
		return e.run()
	case Ack, BinaryAck:
		s.acknowledged(p)
	case Disconnect:
		s.leave(ClientDisconnect)
	case Connect, ConnectError: // the second only ever goes to clients
		c.session.Close()
	}
	return nil
}

// decode takes the next message. Attachments that do not come end the connection:
// what they belong to is held until then.
func (c *client) decode(m engineio.Message) (Packet, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return Packet{}, false, nil
	}
	p, ok, err := c.decoder.Decode(m)
	switch {
	case err != nil:
		c.forget()
	case !c.decoder.Due():
		stop(&c.due)
	case c.due == nil:
		c.due = time.AfterFunc(c.server.cfg.AttachTimeout, c.session.Close)
	default:
		c.due.Reset(c.server.cfg.AttachTimeout)
	}
	return p, ok, err
}

// forget drops what attachments are due for. Call it with c.mu held.
func (c *client) forget() {
	stop(&c.due)
	c.decoder = Decoder{}
}

// onOwnStack runs fn on a goroutine of its own and waits for it. Deciding about a
// peer takes a deep stack, which the connection's goroutine would keep for as
// long as the peer is idle; a panic stays with the caller all the same.
func onOwnStack(fn func()) {
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		fn()
	}()
	if p := <-done; p != nil {
		panic(p)
	}
}

// Closed implements engineio.Receiver.
func (c *client) Closed(reason engineio.Reason) {
	c.mu.Lock()
	c.closed = true
	stop(&c.timer)
	c.forget()
	sockets, cancel := c.sockets, c.cancel
	c.sockets = nil
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	for _, s := range sockets {
		s.closed(reason)
	}
}

func stop(timer **time.Timer) {
	if *timer != nil {
		(*timer).Stop()
		*timer = nil
	}
}

// socket returns the connection's socket in a namespace. known reports that it
// is, or was, a member.
func (c *client) socket(namespace string) (s *Socket, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sockets {
		if s.namespace.name == namespace {
			return s, true
		}
	}
	return nil, slices.Contains(c.left, namespace)
}

func (c *client) connect(p Packet) {
	s, _ := c.socket(p.Namespace)
	c.mu.Lock()
	full := len(c.sockets) >= c.server.cfg.MaxNamespaces
	c.mu.Unlock()
	if s != nil || full {
		c.session.Close()
		return
	}
	n := c.server.namespaces[p.Namespace]
	if n == nil {
		c.refuse(p.Namespace, &RefusalError{Message: "Invalid namespace"})
		return
	}
	auth := p.Data
	if len(auth) == 0 {
		auth = json.RawMessage("{}")
	}
	s = &Socket{client: c, namespace: n, id: engineio.NewID()}
	if err := c.decide(s, auth); err != nil {
		c.refuse(p.Namespace, err)
		return
	}
	if !c.join(s) {
		s.closed(engineio.TransportClose)
		return
	}
	c.session.Prove()
	frames, err := Encode(Packet{Type: Connect, Namespace: n.name, Data: json.RawMessage(`{"sid":"` + s.id + `"}`)})
	if err == nil {
		err = c.session.Send(frames...)
	}
	if err != nil {
		return // the session is gone, and Closed tells the handler's Disconnect
	}
	s.greet()
}

// decide asks the handler, within the time limit.
func (c *client) decide(s *Socket, auth json.RawMessage) error {
	ctx, cancel := context.WithTimeout(context.Background(), c.server.cfg.ConnectTimeout)
	defer cancel()
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return ErrDisconnected
	}
	c.cancel = cancel
	c.mu.Unlock()
	s.ctx = ctx
	err := s.namespace.handler.Connect(s, auth)
	s.ctx = nil
	c.mu.Lock()
	c.cancel = nil
	c.mu.Unlock()
	return err
}

// join makes the socket a member, unless the connection ended meanwhile.
func (c *client) join(s *Socket) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	stop(&c.timer)
	c.decoder.Joined = true
	c.sockets = append(c.sockets, s)
	s.namespace.add(s)
	return true
}

func (c *client) drop(s *Socket) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.sockets, s)
	if i < 0 {
		return false
	}
	c.sockets = slices.Delete(c.sockets, i, i+1)
	if !slices.Contains(c.left, s.namespace.name) {
		c.left = append(c.left, s.namespace.name)
	}
	return true
}

func (c *client) refuse(namespace string, err error) {
	r, ok := errors.AsType[*RefusalError](err)
	if !ok {
		c.server.cfg.Logger.Error("a connection could not be decided", slog.String("event", "socket.connect_failed"), slog.Any("error", err))
		r = &RefusalError{Message: "Internal server error"}
	}
	body, err := marshal(struct {
		Message string `json:"message"`
		Data    any    `json:"data,omitempty"`
	}{r.Message, r.Data})
	if err != nil {
		body = json.RawMessage(`{"message":"Internal server error"}`)
	}
	frames, err := Encode(Packet{Type: ConnectError, Namespace: namespace, Data: body})
	if err == nil {
		_ = c.session.Send(frames...) // the session's end is told by Closed
	}
	if r.Close {
		c.session.Close()
	}
}
