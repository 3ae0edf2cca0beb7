// Package identityhttp reads credentials from requests and puts the principal
// into their context.
//
// Wrap is the one way in which a surface authenticates. It never reads x-did,
// bounds how many wrong credentials one address may try, counts requests by
// principal, and ends an oracle's streams when their token ends.
package identityhttp

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// The request headers that carry credentials.
const (
	HeaderAuthType   = "X-Auth-Type"
	HeaderDelegation = "X-Ucan-Delegation"
)

// Limits are the counters that authentication feeds; nil counts nothing.
type Limits struct {
	// Principals counts requests by authenticated caller.
	Principals *httpserver.Limiter
	// Failures counts refused credentials by client address.
	Failures *httpserver.Limiter
}

// Wrap returns the Authenticate of a surface, without limits.
func Wrap(s *identity.Service, surface identity.Surface) func(httpserver.Handler) httpserver.Handler {
	return WrapLimited(s, surface, Limits{})
}

// WrapLimited returns the Authenticate of a surface. A route with Auth Optional
// is served without a principal when no credentials came; bad ones are refused
// there too.
func WrapLimited(s *identity.Service, surface identity.Surface, limits Limits) func(httpserver.Handler) httpserver.Handler {
	g := guard{service: s, surface: surface, limits: limits}
	return func(next httpserver.Handler) httpserver.Handler {
		return func(w http.ResponseWriter, r *http.Request) error { return g.serve(w, r, next) }
	}
}

// Credentials reads what the request presents, unverified.
func Credentials(r *http.Request) identity.Credentials {
	bearer, _ := httpserver.Bearer(r)
	return identity.Credentials{
		Bearer:     bearer,
		AuthType:   strings.TrimSpace(r.Header.Get(HeaderAuthType)),
		Delegation: strings.TrimSpace(r.Header.Get(HeaderDelegation)),
	}
}

type guard struct {
	service *identity.Service
	surface identity.Surface
	limits  Limits
}

func (g guard) serve(w http.ResponseWriter, r *http.Request, next httpserver.Handler) error {
	ctx := r.Context()
	c := Credentials(r)
	if c.Bearer == "" && c.Delegation == "" && httpserver.RouteAuth(ctx) == httpserver.Optional {
		return next(w, r)
	}
	p, err := g.authenticate(ctx, c)
	if err != nil {
		g.challenge(w, c, err)
		return err
	}
	if ok, wait := g.limits.Principals.Allow(httpserver.KeyOf(p.RateKey())); !ok {
		return httpserver.TooManyRequests(wait)
	}
	ctx = identity.WithPrincipal(ctx, p)
	if route, ok := httpserver.RouteOf(ctx); ok && route.Stream {
		ctx = identity.WithEnding(ctx, func(end func()) (stop func()) { return g.service.OnEnd(p, end) })
		if g.surface == identity.Oracle { // the others have transfers, which may take longer than a token lives
			var end func()
			ctx, end = identity.UntilEnded(ctx, ctx)
			defer end()
		}
	}
	return next(w, r.WithContext(ctx))
}

func (g guard) authenticate(ctx context.Context, c identity.Credentials) (identity.Principal, error) {
	return g.limits.Authenticate(ctx, g.service, g.surface, httpserver.ClientIP(ctx), c)
}

// Authenticate verifies credentials that came from an address, of a request or
// of a socket's handshake. An address that tried too many wrong ones gets in
// only with what was verified before.
func (l Limits) Authenticate(
	ctx context.Context, s *identity.Service, surface identity.Surface, from netip.Addr, c identity.Credentials,
) (identity.Principal, error) {
	if c.Bearer == "" && c.Delegation == "" {
		return s.Authenticate(ctx, surface, c) // nothing was tried, and nothing costs
	}
	if wait, blocked := l.blocked(from); blocked {
		if _, known := s.Recall(surface, c); !known {
			return identity.Principal{}, httpserver.TooManyRequests(wait)
		}
	}
	p, err := s.Authenticate(ctx, surface, c)
	l.count(from, err)
	return p, err
}

func (l Limits) blocked(from netip.Addr) (time.Duration, bool) {
	if l.Failures == nil || !from.IsValid() {
		return 0, false
	}
	return l.Failures.Blocked(httpserver.KeyOfAddr(from))
}

// Blocked reports whether the request's address tried too many wrong
// credentials, for handlers that check one of their own.
func (l Limits) Blocked(ctx context.Context) (wait time.Duration, blocked bool) {
	return l.blocked(httpserver.ClientIP(ctx))
}

// Refused counts a credential that such a handler refused.
func (l Limits) Refused(ctx context.Context) {
	if from := httpserver.ClientIP(ctx); l.Failures != nil && from.IsValid() {
		l.Failures.Count(httpserver.KeyOfAddr(from))
	}
}

// count notes credentials that were refused.
func (l Limits) count(from netip.Addr, err error) {
	if l.Failures != nil && from.IsValid() && fault.Is(err, fault.Unauthenticated) {
		l.Failures.Count(httpserver.KeyOfAddr(from))
	}
}

// challenge tells standard HTTP clients what is wanted. The oracle's clients
// know by themselves.
func (g guard) challenge(w http.ResponseWriter, c identity.Credentials, err error) {
	if g.surface == identity.Oracle || w.Header().Get("WWW-Authenticate") != "" {
		return
	}
	switch {
	case fault.Is(err, fault.Unauthenticated) && c.Bearer == "":
		w.Header().Set("WWW-Authenticate", "Bearer")
	case fault.Is(err, fault.Unauthenticated):
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
	case fault.Is(err, fault.Forbidden):
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope"`)
	}
}
