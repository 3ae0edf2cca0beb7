package httpserver

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"github.com/castalia-org/castalia/internal/platform/telemetry"
	"github.com/castalia-org/castalia/internal/platform/uuid"
)

// exchange is everything known about one request. It is the request's
// context and its response writer at once, so that a request costs one
// allocation here.
type exchange struct {
	context.Context //nolint:containedctx // it is one
	response

	id      string
	idLine  [1]string // the id as the value of a header
	client  netip.Addr
	proxied bool // a proxy that we believe told who the client is
	start   time.Time
	server  *Server
	mounted *mounted
	pattern string // set by SetPattern
	lookup  lookup
	gzip    bool // the client takes gzip
	span    telemetry.Span

	operator OperatorIdentity // on operators' routes
	audited  func(status int) // wants to know how an operator's change ended; nil when nobody does
	judged   time.Time        // when the operator was last known to be one
}

type exchangeKey struct{}

// Value finds the exchange itself before it asks the connection's context.
func (x *exchange) Value(key any) any {
	if key == (exchangeKey{}) {
		return x
	}
	return x.Context.Value(key)
}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// RequestID returns the id of the request that ctx belongs to, or "".
func RequestID(ctx context.Context) string {
	if x := exchangeOf(ctx); x != nil {
		return x.id
	}
	return ""
}

// ClientIP returns the address of the client by the server's proxy rules. It
// is not valid outside a request.
func ClientIP(ctx context.Context) netip.Addr {
	if x := exchangeOf(ctx); x != nil {
		return x.client
	}
	return netip.Addr{}
}

// RouteOf returns the route that serves the request.
func RouteOf(ctx context.Context) (MountedRoute, bool) {
	x := exchangeOf(ctx)
	if x == nil || x.mounted == nil {
		return MountedRoute{}, false
	}
	return MountedRoute{Surface: x.mounted.surface.Name, Route: x.mounted.route}, true
}

// RouteAuth returns who may call the route that serves the request; the zero
// Auth outside a request.
func RouteAuth(ctx context.Context) Auth {
	if x := exchangeOf(ctx); x != nil && x.mounted != nil {
		return x.mounted.route.Auth
	}
	return 0
}

// Draining is closed when the server starts to stop: streams should end in an
// orderly way. Outside a request it is nil, which never is ready.
func Draining(ctx context.Context) <-chan struct{} {
	if x := exchangeOf(ctx); x != nil {
		return x.server.draining
	}
	return nil
}

// SetPattern names what a dynamic surface serves, for logs and traces. Metrics keep
// the surface's own label, because dynamic names are not bounded. It is for the
// handler itself, not for what runs beside it.
func SetPattern(ctx context.Context, pattern string) {
	if x := exchangeOf(ctx); x != nil {
		x.pattern = pattern
	}
}

// HeaderRequestID is the header that carries the id of a request.
const HeaderRequestID = "X-Request-Id"

// requestID returns the client's own id when it is sane, or a new one.
func requestID(h http.Header, now time.Time) string {
	if v := h[HeaderRequestID]; len(v) == 1 && saneID(v[0]) {
		return v[0]
	}
	return uuid.Dated(now)
}

func saneID(s string) bool {
	if s == "" || len(s) > 128 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.', c == ':':
		default:
			return false
		}
	}
	return true
}
