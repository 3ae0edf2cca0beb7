// Package identityhttp reads credentials from requests and puts the principal
// into their context.
//
// Wrap is the one way in which a surface authenticates. It never reads x-did,
// says from which address credentials came, so that verifying them takes that
// address's time, counts requests by principal, those of a minute and those that are
// under way, and ends streams and transfers when
// their token is withdrawn: what was not whole by then is not taken. A token that has
// expired is taken where its route knows that the token began what it asks for
// (httpserver.Route.Began).
package identityhttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// The request headers that carry credentials.
const (
	HeaderAuthType   = "X-Auth-Type"
	HeaderDelegation = "X-Ucan-Delegation"
)

// Limits are the counters that authentication feeds; nil counts nothing.
type Limits struct {
	// Principals counts requests by authenticated caller.
	Principals *ratelimit.Limiter
	// Open bounds the requests of one caller that are under way, answers that go on too.
	Open *ratelimit.Places
	// Guesses counts wrong secrets of other kinds than tokens by client address.
	Guesses *ratelimit.Limiter
}

// Wrap returns the Authenticate of a surface, without limits.
func Wrap(s *identity.Service, surface identity.Surface) func(httpserver.Handler) httpserver.Handler {
	return WrapLimited(s, surface, Limits{})
}

// WrapLimited returns the Authenticate of a surface. A route with Auth Optional
// is served without a principal when no credentials came; bad ones are refused
// there too.
func WrapLimited(s *identity.Service, surface identity.Surface,
	limits Limits,
) func(httpserver.Handler) httpserver.Handler {
	g := guard{service: s, surface: surface, limits: limits}
	return func(next httpserver.Handler) httpserver.Handler {
		return func(w http.ResponseWriter, r *http.Request) error { return g.serve(w, r, next) }
	}
}

// Credentials reads what the request presents, unverified. An app key counts as a
// bearer also when it comes as a password, so that whoever refuses it can say so.
func Credentials(r *http.Request) identity.Credentials {
	bearer, _ := httpserver.Bearer(r)
	if password, ok := Password(r); ok && identity.IsAppKey(password) {
		bearer = password
	}
	return identity.Credentials{
		Bearer:     bearer,
		AuthType:   strings.TrimSpace(r.Header.Get(HeaderAuthType)),
		Delegation: strings.TrimSpace(r.Header.Get(HeaderDelegation)),
		From:       httpserver.ClientIP(r.Context()),
	}
}

// Password returns the password of Basic. People give their DID as name, which has
// colons; the password is what follows the last one.
func Password(r *http.Request) (string, bool) {
	_, password, ok := r.BasicAuth()
	return password[strings.LastIndexByte(password, ':')+1:], ok
}

type guard struct {
	service *identity.Service
	surface identity.Surface
	limits  Limits
}

func (g guard) serve(w http.ResponseWriter, r *http.Request, next httpserver.Handler) error {
	if isAnonymous(r) {
		return next(w, r)
	}
	a, err := g.admit(w, r)
	if err != nil {
		return err
	}
	return a.Serve(w, r, next)
}

// isAnonymous reports whether nobody is named, where the route wants nobody.
func isAnonymous(r *http.Request) bool {
	if httpserver.RouteAuth(r.Context()) != httpserver.Optional {
		return false
	}
	c := Credentials(r)
	return c.Bearer == "" && c.Delegation == ""
}

// admit lets the caller in.
func (g guard) admit(w http.ResponseWriter, r *http.Request) (*Admitted, error) {
	ctx := r.Context()
	c := Credentials(r)
	route, _ := httpserver.RouteOf(ctx)
	p, err := g.service.Authenticate(ctx, g.surface, c)
	if g.surface == identity.Oracle && route.Began != nil && ucan.ReasonOf(err) == ucan.Expired {
		p, err = g.service.AuthenticateLapsed(ctx, c, func(_ context.Context, issuer, token string) (bool, error) {
			return route.Began(r, issuer, token)
		})
	}
	if err != nil {
		g.challenge(w, c, err)
		return nil, err
	}
	return &Admitted{Service: g.service, Surface: g.surface, Limits: g.limits, Principal: p, RateKey: p.RateKey()}, nil
}

// Admitted is a principal that was let in, whoever did that.
type Admitted struct {
	Service   *identity.Service
	Surface   identity.Surface
	Limits    Limits
	Principal identity.Principal
	// RateKey is under which requests are counted.
	RateKey string
}

// Serve counts the request, hands it on with the principal in its context, and ends
// it when its token is withdrawn: streams and transfers go on for longer than that
// may take to be told, and whoever sends a body slowly decides when it is whole.
//
// What a stream waits under stays small, here as below: a stack of 16 KiB of which a
// fourth is used is never halved again, for as long as the stream is open.
func (a *Admitted) Serve(w http.ResponseWriter, r *http.Request, next httpserver.Handler) error {
	r, end, err := a.prepare(r)
	if err != nil {
		return err
	}
	defer end()
	key := ratelimit.KeyOf(a.RateKey)
	if !a.Limits.Open.Enter(key) {
		return ratelimit.Refusal(time.Second)
	}
	defer a.Limits.Open.Leave(key)
	return endedOr(r, next(w, r))
}

// endedOr is the end of the caller's token, if that is why a request failed.
func endedOr(r *http.Request, err error) error {
	if err != nil && errors.Is(context.Cause(r.Context()), identity.ErrEnded) {
		return identity.ErrEnded
	}
	return err
}

// prepare counts the request and returns it with the principal; end is called after it.
func (a *Admitted) prepare(r *http.Request) (_ *http.Request, end func(), err error) {
	if ok, wait := a.Limits.Principals.Allow(ratelimit.KeyOf(a.RateKey)); !ok {
		return nil, nil, ratelimit.Refusal(wait)
	}
	s, p := a.Service, a.Principal
	ctx := identity.WithPrincipal(r.Context(), p)
	route, _ := httpserver.RouteOf(ctx)
	if !route.Stream && r.ContentLength == 0 { // our own work alone, which is short
		return r.WithContext(ctx), func() {}, nil
	}
	withdrawn := s.OnWithdrawn
	if a.Surface.IsOpen() { // whoever asks to become a member is none yet
		withdrawn = s.OnRevoked
	}
	ctx = identity.WithEnding(ctx, func(end func()) (stop func()) { return withdrawn(p, end) })
	ctx, end = identity.UntilEnded(ctx, ctx)
	if a.Surface != identity.Oracle {
		// Transfers may take longer than a token lives; what only listens ends with it.
		// Of the oracle an answer ends by itself, and who was let in hears it out.
		ctx = identity.WithEnding(ctx, func(end func()) (stop func()) { return s.OnEnd(p, end) })
	}
	r = r.WithContext(ctx)
	if r.ContentLength != 0 {
		r.Body = admittedBody{r.Body, ctx}
	}
	return r, end, nil
}

// admittedBody is a body of which nothing is taken after its sender's token was
// withdrawn: also a handler that does not look at its context then lacks the end.
type admittedBody struct {
	io.ReadCloser
	ctx context.Context //nolint:containedctx // the body lives as long as its request
}

// Read reads the body.
func (b admittedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if ended := context.Cause(b.ctx); errors.Is(ended, identity.ErrEnded) {
		return 0, ended
	}
	return n, err
}

// Guessed counts a wrong secret that a handler of the request refused, and
// returns the refusal that is due when its address has tried too many. It is
// asked after the check: whoever has the right secret is served, whatever the
// neighbours tried.
func (l Limits) Guessed(ctx context.Context) error {
	from := httpserver.ClientIP(ctx)
	if !from.IsValid() {
		return nil
	}
	if ok, wait := l.Guesses.AllowAddr(from); !ok {
		return ratelimit.Refusal(wait)
	}
	return nil
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
