package engineio

import (
	"container/list"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

// Server is an http.Handler that serves Engine.IO on whatever path it is
// mounted. Call New.
type Server struct {
	cfg      Config
	accept   func(*Session) Receiver
	upgrader websocket.Upgrader
	stats    counters
	running  sync.WaitGroup // read loops and writers

	mu       sync.Mutex
	sessions map[string]*Session
	unproven map[string]*list.List // of sessions by origin, the oldest first
	stopping bool
}

type counters struct {
	opened, overflowed, upgraded, refused atomic.Uint64
}

// Stats is a snapshot of a server's counters.
type Stats struct {
	// Sessions is how many there are now.
	Sessions int
	// Opened, Upgraded, Overflowed and Refused count since the start: handshakes
	// that succeeded, upgrades to WebSocket, peers that read too slowly, and
	// requests that were answered with an error.
	Opened, Upgraded, Overflowed, Refused uint64
}

// New returns a server that hands each new session to accept, before the peer
// can send anything on it.
func New(cfg Config, accept func(*Session) Receiver) *Server {
	cfg = cfg.withDefaults()
	return &Server{
		cfg:      cfg,
		accept:   accept,
		sessions: make(map[string]*Session),
		unproven: make(map[string]*list.List),
		upgrader: websocket.Upgrader{
			ReadBufferSize:  512,
			WriteBufferSize: 512,
			WriteBufferPool: &sync.Pool{}, // frames are written past it: no buffer is ever taken
			CheckOrigin:     cfg.CheckOrigin,
		},
	}
}

// Stats returns the counters.
func (e *Server) Stats() Stats {
	e.mu.Lock()
	n := len(e.sessions)
	e.mu.Unlock()
	return Stats{
		Sessions: n, Opened: e.stats.opened.Load(), Upgraded: e.stats.upgraded.Load(),
		Overflowed: e.stats.overflowed.Load(), Refused: e.stats.refused.Load(),
	}
}

// Shutdown refuses new sessions, tells the others that the server goes, and
// waits until what was queued for them is sent or ctx ends; then it cuts them.
func (e *Server) Shutdown(ctx context.Context) error {
	e.mu.Lock()
	e.stopping = true
	all := make([]*Session, 0, len(e.sessions))
	for _, s := range e.sessions {
		all = append(all, s)
	}
	e.mu.Unlock()
	for _, s := range all {
		s.end(ServerShutdown, soft)
	}
	done := make(chan struct{})
	go func() {
		e.running.Wait()
		close(done)
	}()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	for _, s := range all {
		s.cut()
	}
	<-done
	return err
}

// code is an Engine.IO error code.
type code int

const (
	unknownTransport code = iota
	unknownSession
	badMethod
	badRequest
	forbidden
	badVersion
)

var codeTexts = [...]string{
	"Transport unknown", "Session ID unknown", "Bad handshake method", "Bad request", "Forbidden", "Unsupported protocol version",
}

// ServeHTTP implements http.Handler.
func (e *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	upgrade := websocket.IsWebSocketUpgrade(r)
	name := query.Get("transport")
	if name != "polling" && name != "websocket" {
		e.refuse(w, upgrade, unknownTransport, "")
		return
	}
	if (name == "websocket") != upgrade {
		// Also a WebSocket request that lost its Upgrade header in a proxy: it must
		// not be taken for a poll.
		e.refuse(w, upgrade, badRequest, "")
		return
	}
	if sid := query.Get("sid"); sid != "" {
		e.serveSession(w, r, sid, upgrade, query)
		return
	}
	e.handshake(w, r, upgrade, query)
}

func (e *Server) serveSession(w http.ResponseWriter, r *http.Request, sid string, upgrade bool, query url.Values) {
	e.mu.Lock()
	s := e.sessions[sid]
	e.mu.Unlock()
	if s == nil {
		if e.cfg.Foreign != nil {
			if h := e.cfg.Foreign(r, sid); h != nil {
				h.ServeHTTP(w, r)
				return
			}
		}
		e.refuse(w, upgrade, unknownSession, "")
		return
	}
	switch {
	case query.Get("EIO") != "4":
		e.refuse(w, upgrade, badRequest, "")
	case upgrade:
		e.serveProbe(w, r, s)
	case r.Method == http.MethodGet:
		e.servePoll(w, r, s)
	case r.Method == http.MethodPost:
		e.servePush(w, r, s)
	default:
		e.refuse(w, upgrade, badRequest, "")
	}
}

func (e *Server) handshake(w http.ResponseWriter, r *http.Request, upgrade bool, query url.Values) {
	if r.Method != http.MethodGet {
		e.refuse(w, upgrade, badMethod, "")
		return
	}
	if e.cfg.Allow != nil {
		if err := e.cfg.Allow(r); err != nil {
			e.refuse(w, upgrade, forbidden, err.Error())
			return
		}
	}
	if query.Get("EIO") != "4" {
		e.refuse(w, upgrade, badVersion, "")
		return
	}
	s := &Session{
		server: e, id: e.cfg.SessionID(), info: e.cfg.Info(r), query: r.URL.RawQuery,
		remote: r.RemoteAddr, base64: query.Has("b64"),
	}
	if e.cfg.Origin != nil && e.cfg.MaxUnproven > 0 {
		s.origin = e.cfg.Origin(r)
	}
	if e.full() {
		e.refuseFull(w)
		return
	}
	if !upgrade {
		if !s.start(nil) {
			e.refuseFull(w)
			return
		}
		writeText(w, e.cfg.IOTimeout, e.openPacket(s, `["websocket"]`))
		return
	}
	conn, err := e.upgrader.Upgrade(hijacker{w}, r, named(w))
	if err != nil { // Upgrade has answered
		e.stats.refused.Add(1)
		return
	}
	e.prepare(conn, s)
	s.queue = append(s.queue, newFrame(finalText, "", e.openPacket(s, "[]")))
	if !s.start(conn) {
		writeClose(conn, closeGoingAway)
		_ = conn.Close()
	}
}

func (e *Server) refuseFull(w http.ResponseWriter) {
	e.stats.refused.Add(1)
	w.Header().Set("Retry-After", "1")
	writeError(w, http.StatusServiceUnavailable, forbidden, "Too many sessions")
}

// full reports that there is no place for one more session.
func (e *Server) full() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.fullNow()
}

func (e *Server) fullNow() bool { return e.stopping || len(e.sessions) >= e.cfg.MaxSessions }

// proven takes a session out of those of its origin, once.
func (e *Server) proven(s *Session) {
	if s.place == nil {
		return
	}
	all := e.unproven[s.origin]
	all.Remove(s.place)
	if all.Len() == 0 {
		delete(e.unproven, s.origin)
	}
	s.place = nil
}

// register gives a session its place in the table and, if it has a read loop,
// in running. Where its origin has too many that are not proven, the oldest of them
// makes room, and is the caller's to end: a client proves itself at once, so that
// who opens sessions and leaves them waiting displaces their own, and locks out
// nobody who shares the address.
func (e *Server) register(s *Session, loop bool) (displaced *Session, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fullNow() || e.sessions[s.id] != nil {
		return nil, false
	}
	e.sessions[s.id] = s
	if s.origin != "" {
		all := e.unproven[s.origin]
		if all == nil {
			all = list.New()
			e.unproven[s.origin] = all
		}
		if all.Len() >= e.cfg.MaxUnproven {
			displaced, _ = all.Front().Value.(*Session)
			e.proven(displaced)
			e.unproven[s.origin] = all // it may have been the only one
		}
		s.place = all.PushBack(s)
	}
	if loop {
		e.running.Add(1)
	}
	e.stats.opened.Add(1)
	return displaced, true
}

func (e *Server) forget(s *Session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sessions[s.id] == s {
		delete(e.sessions, s.id)
		e.proven(s)
	}
}

func (e *Server) openPacket(s *Session, upgrades string) []byte {
	id, _ := json.Marshal(s.id) // a string always marshals
	body := append([]byte(`0{"sid":`), id...)
	body = append(body, `,"upgrades":`...)
	body = append(body, upgrades...)
	body = append(body, `,"pingInterval":`...)
	body = appendInt(body, e.cfg.PingInterval.Milliseconds())
	body = append(body, `,"pingTimeout":`...)
	body = appendInt(body, e.cfg.PingTimeout.Milliseconds())
	body = append(body, `,"maxPayload":`...)
	body = appendInt(body, e.cfg.MaxPayload)
	return append(body, '}')
}

func (e *Server) firstPing() time.Duration {
	//nolint:gosec // spreads timers, guards nothing
	return e.cfg.PingInterval - time.Duration(mathrand.Float64()*e.cfg.Jitter*float64(e.cfg.PingInterval))
}

// Unknown answers that a session is not known, for whoever looked for it
// elsewhere in vain.
func Unknown(w http.ResponseWriter, r *http.Request) {
	writeRefusal(w, websocket.IsWebSocketUpgrade(r), unknownSession, "")
}

func (e *Server) refuse(w http.ResponseWriter, upgrade bool, c code, text string) {
	e.stats.refused.Add(1)
	writeRefusal(w, upgrade, c, text)
}

func writeRefusal(w http.ResponseWriter, upgrade bool, c code, text string) {
	if text == "" {
		text = codeTexts[c]
	}
	status := http.StatusBadRequest
	if c == forbidden {
		status = http.StatusForbidden
	}
	if upgrade {
		w.Header().Set("Connection", "close")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(htmlEscape(text)))
		return
	}
	writeError(w, status, c, text)
}

// NewID returns 20 random characters that are safe in a URL.
func NewID() string {
	var raw [15]byte
	_, _ = rand.Read(raw[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(raw[:])
}
