package httpserver

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver/clientaddr"
	"github.com/castalia-org/castalia/internal/platform/listener"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
)

// Config is how the listener behaves. The zero value serves on a free port.
type Config struct {
	Addr    string // host:port; ":0" when empty
	Logger  *slog.Logger
	Metrics *telemetry.Metrics // nil: not measured
	Traces  *telemetry.Traces  // nil: not traced

	// TLS, when set, is served beside Addr at TLSAddr, with HTTP/2.
	TLS     *tls.Config
	TLSAddr string
	// Plain is asked about each request that reached the deployment without TLS, before
	// anything else; true says that it was answered. nil serves all of them.
	Plain func(w http.ResponseWriter, r *http.Request) bool

	// Proxies are the networks whose X-Forwarded-… headers are believed.
	Proxies []netip.Prefix
	// PublicURL is where clients reach this deployment, now; nil or empty: as such a proxy says.
	PublicURL     func() string
	OperatorToken string
	// LocalOperator, without a token, takes a direct peer on this machine for the
	// operator.
	LocalOperator bool
	// SignedOperator says who signed a request to an operators' route; the zero
	// identity is nobody with a role. nil knows nobody.
	SignedOperator func(r *http.Request) (OperatorIdentity, error)
	// Audit, when set, is told of each change that an operator asks for before it is made, and
	// by ended what was answered. A change that it cannot be told of is refused.
	Audit func(ctx context.Context, who OperatorIdentity, act, target string) (ended func(status int), err error)
	// FailedAuth counts wrong operator tokens.
	FailedAuth *ratelimit.Limiter
	// Limits are what the classes of routes allow. Nil allows everything; else a
	// route of a class that is not among them is refused by Mount.
	Limits map[LimitClass]*ratelimit.Limiter

	// Open bounds the requests of those classes that are under way, by client address.
	Open *ratelimit.Places

	// Errors and CORS are the manners of paths that no surface owns.
	Errors ErrorWriter
	CORS   CORSPolicy

	MaxBody        int64 // 1 MiB
	MaxHeaderBytes int   // 128 KiB: delegations travel in headers
	MaxConns       int   // 16384; never more than the process's limit of open files bears

	HeaderTimeout time.Duration // 10 s to send the headers of a request
	IdleTimeout   time.Duration // 2 min between requests
	StallTimeout  time.Duration // 30 s without progress of a body, either way
	DrainDelay    time.Duration // between not ready and closed to new connections
	DrainTimeout  time.Duration // 25 s for requests in flight
}

func (c *Config) fill() {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Errors == nil {
		c.Errors = NestErrors
	}
	c.Addr = cmp.Or(c.Addr, ":0")
	c.MaxBody = cmp.Or(c.MaxBody, 1<<20)
	c.MaxHeaderBytes = cmp.Or(c.MaxHeaderBytes, 128<<10)
	c.MaxConns = min(cmp.Or(c.MaxConns, 16384), listener.Budget())
	c.HeaderTimeout = cmp.Or(c.HeaderTimeout, 10*time.Second)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, 2*time.Minute)
	c.StallTimeout = cmp.Or(c.StallTimeout, 30*time.Second)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 25*time.Second)
}

// Server is the listener. Mount surfaces, then Run it; it is an http.Handler
// as well, for tests.
type Server struct {
	cfg      Config
	operator operatorGuard
	meter    *meter

	mu       sync.Mutex
	started  bool
	root     node
	surfaces []*surface
	prefixes prefixes
	dynamics []*surface
	nobody   *surface

	listener *listener.Listener
	secure   *listener.Listener // nil without TLS
	conns    *listener.Table
	ready    atomic.Bool
	leaving  atomic.Bool
	draining chan struct{}
	gzip     gzipPool
}

// New returns a server without routes.
func New(cfg Config) (*Server, error) {
	cfg.fill()
	s := &Server{
		cfg:      cfg,
		operator: newOperatorGuard(cfg),
		meter:    newMeter(cfg.Metrics),
		draining: make(chan struct{}),
	}
	s.conns = listener.NewTable(cfg.MaxConns)
	cfg.Metrics.GaugeFunc("http_connections", "Open connections.", func() float64 { return float64(s.conns.Len()) })
	cfg.Metrics.CounterFunc("http_connections_dropped_total", "Waiting connections that were closed to make room.",
		func() float64 { return float64(s.conns.Drops()) })
	s.nobody = s.prepare(Surface{Name: "none", Errors: cfg.Errors, CORS: cfg.CORS})
	return s, nil
}

// prepare makes a surface ready to serve, without its routes.
func (s *Server) prepare(given Surface) *surface {
	if given.Errors == nil {
		given.Errors = NestErrors
	}
	sf := &surface{Surface: given, cors: newCORS(given.CORS)}
	sf.missing = &mounted{surface: sf, route: Route{Auth: Public}, meter: s.meter.route(given.Name, "", "(none)")}
	sf.guarded = &mounted{surface: sf, route: Route{Auth: Operator, Role: Viewer}, meter: sf.missing.meter}
	return sf
}

// Mount adds a surface. It fails, and says whose, when a method and path have
// an owner already, and when a route is not complete. Surfaces are mounted
// before the server runs.
func (s *Server) Mount(given Surface) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return fmt.Errorf("mount %s: the server is running", given.Name)
	}
	if given.Name == "" {
		return errors.New("mount a surface: it has no name")
	}
	sf := s.prepare(given)
	for i := range given.Routes {
		m, err := s.prepareRoute(sf, given.Routes[i])
		if err == nil {
			err = m.route.checkPattern()
		}
		if err == nil {
			err = s.root.insert(m)
		}
		if err != nil {
			return fmt.Errorf("mount %s: %s %s: %w", given.Name, given.Routes[i].Method, given.Routes[i].Pattern, err)
		}
	}
	if d := given.Dynamic; d != nil {
		route := d.Route
		route.Pattern = cmp.Or(route.Pattern, "("+given.Name+")")
		m, err := s.prepareRoute(sf, route)
		if err != nil {
			return fmt.Errorf("mount %s: dynamic route: %w", given.Name, err)
		}
		sf.dynamic = m
		s.dynamics = append(s.dynamics, sf)
	}
	for _, p := range given.Prefixes {
		s.prefixes = append(s.prefixes, prefixOwner{prefix: p, owner: sf})
	}
	slices.SortStableFunc(s.prefixes, func(a, b prefixOwner) int { return len(b.prefix) - len(a.prefix) })
	s.surfaces = append(s.surfaces, sf)
	return nil
}

func (s *Server) prepareRoute(sf *surface, route Route) (*mounted, error) {
	if err := route.check(); err != nil {
		return nil, err
	}
	class, known := s.cfg.Limits[route.Limit]
	if route.Limit != "" && s.cfg.Limits != nil && !known {
		return nil, fmt.Errorf("nobody limits the class %q", route.Limit)
	}
	h := route.Handler
	if route.Auth == Principal || route.Auth == Optional {
		if sf.Authenticate == nil && len(sf.Wrap) == 0 {
			return nil, errors.New("needs a principal, and nothing on its surface authenticates")
		}
		if sf.Authenticate != nil {
			h = sf.Authenticate(h)
		}
	}
	for _, wrap := range slices.Backward(sf.Wrap) {
		h = wrap(h)
	}
	return &mounted{
		route: route, surface: sf, class: class, handler: h, meter: s.meter.route(sf.Name, route.Method, route.Pattern),
	}, nil
}

// Routes lists the fixed routes, in order of mounting.
func (s *Server) Routes() []MountedRoute {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []MountedRoute
	for _, sf := range s.surfaces {
		for _, r := range sf.Routes {
			all = append(all, MountedRoute{Surface: sf.Name, Route: r})
		}
	}
	return all
}

// Surfaces lists what is mounted, in order of mounting.
func (s *Server) Surfaces() []Surface {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Surface, len(s.surfaces))
	for i, sf := range s.surfaces {
		all[i] = sf.Surface
	}
	return all
}

var (
	noSniff    = []string{"nosniff"}
	noReferrer = []string{"no-referrer"}
	noFrame    = []string{"DENY"}
	onlyTLS    = []string{"max-age=31536000"}
)

// ServeHTTP answers one request through the whole chain.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x, r, allow := s.receive(w, r)
	if x == nil {
		return
	}
	err := s.serve(x, r, x.mounted, allow) //nolint:contextcheck // r carries the context
	s.finish(x, r, err)
	if x.abort {
		panic(http.ErrAbortHandler)
	}
}

// receive begins the exchange and decides who answers. A preflight is answered: it has none.
func (s *Server) receive(w http.ResponseWriter, r *http.Request) (x *exchange, _ *http.Request, allow string) {
	now := time.Now()
	x = &exchange{Context: r.Context(), server: s, start: now, id: requestID(r.Header, now)}
	x.idLine[0] = x.id
	x.begin(x, w, r)
	x.client, x.proxied = clientaddr.Of(r, x.conn, s.cfg.Proxies)
	x.gzip = AcceptsEncoding(r.Header, "gzip")
	h := w.Header()
	h[HeaderRequestID] = x.idLine[:]
	h["X-Content-Type-Options"] = noSniff
	h["Referrer-Policy"] = noReferrer
	h["X-Frame-Options"] = noFrame
	if x.scheme(r) == "https" {
		h["Strict-Transport-Security"] = onlyTLS
	}
	if s.leaving.Load() {
		h.Set("Connection", "close")
	}

	m, allow := s.route(x, r)
	x.mounted = m
	if s.cfg.Traces != nil {
		x.Context, x.span = s.cfg.Traces.StartRequest(x.Context, r.Header, r.Method, x.label())
	}
	r = r.WithContext(x) //nolint:contextcheck // x is the request's context, with the exchange in it
	m.meter.enter()
	// Operator routes are for no page: they send no cross-origin headers at all.
	if sf := m.surface; m.route.Auth != Operator && sf.cors.mark(h, r) && isPreflight(r) {
		sf.cors.preflight(h)
		x.WriteHeader(http.StatusNoContent)
		s.finish(x, r, nil)
		return nil, r, ""
	}
	for i, name := range m.names {
		r.SetPathValue(name, x.lookup.vars[i])
	}
	return x, r, allow
}

// route decides who answers. allow is set when the path has owners, but not
// for this method.
func (s *Server) route(x *exchange, r *http.Request) (m *mounted, allow string) {
	x.lookup.method = r.Method
	if m := s.root.find(&x.lookup, r.URL); m != nil {
		return m, ""
	}
	owner := s.prefixes.find(r.URL.Path)
	if len(x.lookup.allowed) > 0 {
		x.lookup.method = x.lookup.allowed[0]
		sibling := s.root.find(&x.lookup, r.URL)
		if sibling.route.Auth == Operator {
			return sibling.surface.guarded, x.lookup.allow()
		}
		return sibling.surface.missing, x.lookup.allow()
	}
	if owner != nil {
		return cmp.Or(owner.dynamic, owner.missing), ""
	}
	first := firstSegment(r.URL.Path)
	for _, sf := range s.dynamics {
		if sf.Dynamic.Claims != nil && sf.Dynamic.Claims(first) {
			return sf.dynamic, ""
		}
	}
	return s.nobody.missing, ""
}

// nowhere is the 404 of a path that no surface owns, with what is near to it.
func (s *Server) nowhere(r *http.Request) error {
	for _, sf := range s.dynamics {
		if sf.Dynamic.Near == nil {
			continue
		}
		if near := sf.Dynamic.Near(r.URL.EscapedPath()); len(near) > 0 {
			return fault.Newf(fault.NotFound, "Cannot %s %s; near: %s", r.Method, shownPath(r), strings.Join(near, ", "))
		}
	}
	return NotFound(r)
}

// serve runs the handler and turns a panic into an error.
func (s *Server) serve(x *exchange, r *http.Request, m *mounted, allow string) (err error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if v == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
			x.abort = true
			return
		}
		s.cfg.Logger.LogAttrs(r.Context(), slog.LevelError, "handler panicked", slog.String("event", "request.panicked"), slog.String("request_id", x.id),
			slog.String("route", m.route.Pattern), slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
		err = errPanicked
	}()
	if x.conn.Late() && !m.route.Kept && m.route.Auth != Operator {
		x.Header().Set("Connection", "close")
		return errFull
	}
	if m.route.Limit != "" { // others are counted by their principal
		key := ratelimit.KeyOfAddr(x.client)
		if !s.cfg.Open.Enter(key) {
			return ratelimit.Refusal(time.Second)
		}
		defer s.cfg.Open.Leave(key)
	}
	if done, err := s.letIn(x, r, m, allow); done || err != nil {
		return err
	}
	return m.handler(&x.response, r)
}

var errFull = fault.New(fault.Unavailable, "All connections of this node are in use").WithRetryAfter(time.Second)

// letIn counts a request and lets it in; done says that no handler is to answer.
func (s *Server) letIn(x *exchange, r *http.Request, m *mounted, allow string) (done bool, err error) {
	for _, l := range [...]*ratelimit.Limiter{m.surface.Limiter, m.route.Limiter, m.class} {
		if ok, wait := l.AllowAddr(x.client); !ok {
			return false, ratelimit.Refusal(wait)
		}
	}
	if m.route.Auth == Operator {
		if x.operator, err = s.operator.admit(r, x.client, &m.route); err != nil {
			return false, err
		}
		x.judged = x.start
		if err := s.audit(x, r, m); err != nil {
			return false, err
		}
	}
	switch {
	case allow != "":
		x.Header().Set("Allow", allow)
		if r.Method == http.MethodOptions {
			x.WriteHeader(http.StatusNoContent)
			return true, nil
		}
		return false, fault.Newf(fault.MethodNotAllowed, "Cannot %s %s", r.Method, shownPath(r))
	case m == s.nobody.missing:
		return false, s.nowhere(r)
	case m.handler == nil:
		return false, NotFound(r)
	}
	if err := x.limitBody(r, m); err != nil {
		return false, err
	}
	if m.route.Auth == Operator && x.body != nil {
		x.body.again = func() error { // a role counts while it is there
			_, err := s.operator.admit(r, x.client, &m.route)
			return err
		}
	}
	return false, nil
}

// audit tells of changes by operators.
func (s *Server) audit(x *exchange, r *http.Request, m *mounted) (err error) {
	reads := m.route.Asks || r.Method == http.MethodGet || r.Method == http.MethodHead
	if s.cfg.Audit == nil || m.handler == nil || reads && !m.route.Noted {
		return nil
	}
	x.audited, err = s.cfg.Audit(r.Context(), x.operator, m.route.Method+" "+m.route.Pattern, r.URL.Path)
	return err
}

var errPanicked = fault.New(fault.Internal, "Internal server error").WithCode("panic")

// finish writes the error, if any, ends the response and tells the operator.
func (s *Server) finish(x *exchange, r *http.Request, err error) {
	m := x.mounted
	if err != nil {
		s.fail(x, r, err)
	}
	x.end() //nolint:contextcheck // x is the request's context
	if x.audited != nil {
		x.audited(x.status)
	}
	elapsed := time.Since(x.start)
	m.meter.leave(x.status, x.written, elapsed)
	x.span.EndRequest(x.status, x.id)
	level := slog.LevelInfo
	if m.route.Quiet {
		level = slog.LevelDebug
	}
	if !s.cfg.Logger.Enabled(r.Context(), level) {
		return
	}
	// Half of what surrounds a handler is this line, so it is made without the
	// caller's place and with the time in the form in which it is printed.
	line := slog.NewRecord(time.Now(), level, "request", 0)
	line.AddAttrs(slog.String("request_id", x.id), slog.String("method", r.Method),
		slog.String("route", x.label()), slog.String("path", x.maskedPath(r)), slog.Int("status", x.status),
		slog.Int64("bytes", x.written), slog.Float64("took_ms", float64(elapsed.Microseconds())/1000),
		slog.String("client", x.client.String()), x.traceAttr())
	_ = s.cfg.Logger.Handler().Handle(r.Context(), line) // as slog itself does: nobody could be told
}

// fail logs what must not be shown and lets the surface write what may.
func (s *Server) fail(x *exchange, r *http.Request, err error) {
	e, shown := fault.From(err), err
	if e.Kind == fault.Internal && e != errPanicked {
		// A handler that could not read or write may not know why.
		switch {
		case x.trouble != nil:
			e, shown = x.trouble, x.trouble
		case errors.Is(r.Context().Err(), context.Canceled):
			e, shown = errGone, errGone
		}
	}
	if e.Kind == fault.Canceled && x.trouble == nil && r.Context().Err() == nil {
		// Something else than the client's departure ended the work: there is
		// somebody to tell.
		e = fault.Wrap(fault.Unavailable, "The request was cut short. Please try again.", err)
		shown = e
	}
	if e != errPanicked {
		s.cfg.Logger.LogAttrs(r.Context(), severity(e.Kind), "request failed", slog.String("event", "request.failed"), slog.String("request_id", x.id),
			slog.String("route", x.label()), slog.String("kind", e.Kind.String()), slog.String("error", x.maskedError(r, err)))
	}
	if x.hijacked {
		return
	}
	if x.wroteHeader {
		x.abort = true // half an answer must not look like a whole one
		return
	}
	if e == errSlowBody || e == errGone {
		x.Header().Set("Connection", "close")
	}
	x.Header().Del("Content-Language") // the page that it was chosen for is not sent
	x.mounted.surface.Errors(&x.response, r, shown)
}

// severity is how much a failure concerns the operator: what is wrong with us,
// then what we lean on, then what clients do.
func severity(kind fault.Kind) slog.Level {
	switch kind {
	case fault.Internal, fault.StorageFull:
		return slog.LevelError
	case fault.Unavailable, fault.Timeout:
		return slog.LevelWarn
	default:
		return slog.LevelDebug
	}
}

// traceAttr is empty, and not logged, when the request is not traced.
func (x *exchange) traceAttr() slog.Attr {
	if id := x.span.TraceID(); id != "" {
		return slog.String("trace_id", id)
	}
	return slog.Attr{}
}

func (x *exchange) label() string {
	if x.pattern != "" {
		return x.pattern
	}
	if x.mounted.route.Pattern == "" {
		return "(none)"
	}
	return x.mounted.route.Pattern
}

// maskedPath is the path with every variable cut short: enough to follow one
// request, too little to use what a path may carry. Where no route says which
// segments vary, all are that are no words.
func (x *exchange) maskedPath(r *http.Request) string {
	fixed := x.mounted.handler != nil && x.mounted != x.mounted.surface.dynamic
	if fixed && len(x.mounted.names) == 0 {
		return x.mounted.route.Pattern
	}
	path := shownPath(r)
	if fixed {
		path = x.mounted.route.Pattern
	}
	var b strings.Builder
	v := 0
	for seg := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		b.WriteByte('/')
		switch {
		case fixed && strings.HasPrefix(seg, "{"):
			b.WriteString(beginning(x.lookup.vars[v], 12, "…"))
			v++
		case fixed:
			b.WriteString(seg)
		default:
			b.WriteString(unknownSegment(seg))
		}
	}
	if fixed {
		return b.String()
	}
	return telemetry.Redact(b.String())
}

// maskedError is what failed, where that repeats the path with the masked one.
func (x *exchange) maskedError(r *http.Request, err error) string {
	text, path := err.Error(), shownPath(r)
	if !strings.Contains(text, path) {
		return text
	}
	return strings.ReplaceAll(text, path, x.maskedPath(r))
}

// unknownSegment is a segment of a path that nobody declared. It may be the secret of a link
// that was asked for by a wrong method or below a wrong prefix, or a telephone number: only what looks
// like a word is shown whole.
func unknownSegment(seg string) string {
	digits := 0
	for _, c := range []byte(seg) {
		if '0' <= c && c <= '9' {
			digits++
		}
	}
	switch {
	case digits == 0:
		return beginning(seg, 24, seg)
	case digits >= 7:
		return beginning(seg, 12, "…")
	}
	return beginning(seg, 12, seg)
}

// beginning is the first characters of a value longer than most; a shorter one
// is shown as otherwise.
func beginning(value string, most int, otherwise string) string {
	if len(value) > most {
		return strings.ToValidUTF8(value[:4], "") + "…"
	}
	return otherwise
}
