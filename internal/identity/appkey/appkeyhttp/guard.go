package appkeyhttp

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/appkey"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// Face is what authenticates the callers of a face.
type Face struct {
	Keys     appkey.Authenticator
	Identity *identity.Service
	// Limits counts requests by app key or principal, and wrong keys by address.
	Limits identityhttp.Limits
}

// The schemes by which the documentation names app keys: for Route.Security of faces.
const (
	SchemeKey   = "appKey"
	SchemeBasic = "appKeyBasic"
	schemeToken = "ucan"
)

// Schemes are the ways into a face that Wrap guards.
func Schemes() []string { return []string{SchemeKey, SchemeBasic, schemeToken} }

// The texts of missing credentials.
const (
	TextMissing    = "Missing credentials: provide Authorization: Bearer <app key>, or a UCAN"
	TextMissingKey = "Missing app key: provide Authorization: Bearer <app key>"
)

// Wrap returns the Authenticate of a face's surface. It takes an app key with the
// scope as a bearer or as the password of Basic, whatever the user's name, and else a
// token by the rules of the oracle or of the files; a bearer is taken without
// X-Auth-Type, which programs do not send. Where the scope is Any only app keys count.
func (f Face) Wrap(scope appkey.Scope) func(httpserver.Handler) httpserver.Handler {
	surface := identity.Oracle
	if scope == appkey.Files {
		surface = identity.Files
	}
	return func(next httpserver.Handler) httpserver.Handler {
		return func(w http.ResponseWriter, r *http.Request) error {
			a, r, err := f.admit(r, scope, surface)
			if err != nil {
				challenge(w, r, scope, err)
				return err
			}
			return a.Serve(w, r, next)
		}
	}
}

// admit lets the caller in, and returns the request as it is to go on.
func (f Face) admit(r *http.Request, scope appkey.Scope, surface identity.Surface,
) (_ *identityhttp.Admitted, _ *http.Request, err error) {
	a := &identityhttp.Admitted{Service: f.Identity, Surface: surface, Limits: f.Limits}
	if text, given := presented(r); given {
		r, err = f.byKey(r, scope, text, a)
	} else {
		err = f.byToken(r, scope, a)
	}
	return a, r, err
}

// WrapKeys takes app keys with the scope, and leaves requests without one to others.
func (f Face) WrapKeys(scope appkey.Scope,
	others func(httpserver.Handler) httpserver.Handler,
) func(httpserver.Handler) httpserver.Handler {
	byKey := f.Wrap(scope)
	return func(next httpserver.Handler) httpserver.Handler {
		keys, rest := byKey(next), others(next)
		return func(w http.ResponseWriter, r *http.Request) error {
			if _, given := presented(r); given {
				return keys(w, r)
			}
			return rest(w, r)
		}
	}
}

// WrapAgents is the Authenticate of the address for agents, which serves every scope: it
// puts what the credential opens into the context (identity.AgentOf). A token that is
// restricted to CIDs is let in, to the files alone.
func (f Face) WrapAgents(next httpserver.Handler) httpserver.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		a := &identityhttp.Admitted{Service: f.Identity, Surface: identity.MCP, Limits: f.Limits}
		ctx := r.Context()
		var opened identity.Agent
		var err error
		if text, given := presented(r); given && identity.IsAppKey(text) {
			var k appkey.Key
			if k, opened, err = f.Keys.AuthenticateAgent(ctx, text); errors.Is(err, appkey.ErrUnknown) {
				err = cmp.Or(f.Limits.Guessed(ctx), err)
			}
			ctx, a.RateKey = appkey.WithKey(ctx, k), k.DID
			r.Header = r.Header.Clone() // the protocol knows bearers alone
			r.Header.Set("Authorization", "Bearer "+text)
		} else {
			opened, err = f.Identity.AuthenticateAgent(ctx, identityhttp.Credentials(r))
		}
		if err != nil {
			return err // the surface says what is wanted
		}
		a.Principal, _ = opened.Principal()
		if a.RateKey == "" {
			a.RateKey = a.Principal.RateKey()
		}
		return a.Serve(w, r.WithContext(identity.WithAgent(ctx, opened)), next)
	}
}

// presented returns what claims to be an app key: a bearer that begins like one, or
// any password.
func presented(r *http.Request) (text string, given bool) {
	if password, ok := identityhttp.Password(r); ok {
		return password, true
	}
	bearer, _ := httpserver.Bearer(r)
	return bearer, identity.IsAppKey(bearer)
}

// byKey lets an app key in. It is counted apart from its maker, whom a program that
// asks too much must not lock out.
func (f Face) byKey(r *http.Request, scope appkey.Scope, text string, a *identityhttp.Admitted) (*http.Request, error) {
	access, err := f.Keys.Authenticate(r.Context(), scope, text)
	if errors.Is(err, appkey.ErrUnknown) {
		return r, cmp.Or(f.Limits.Guessed(r.Context()), err)
	}
	if err != nil {
		return r, err
	}
	a.Principal, a.RateKey = access.Principal, access.Key.DID
	return r.WithContext(appkey.WithKey(r.Context(), access.Key)), nil
}

func (f Face) byToken(r *http.Request, scope appkey.Scope, a *identityhttp.Admitted) error {
	c := identityhttp.Credentials(r)
	switch {
	case scope == appkey.Any:
		return fault.New(fault.Unauthenticated, TextMissingKey)
	case c.Bearer == "" && (c.Delegation == "" || a.Surface != identity.Oracle):
		return fault.New(fault.Unauthenticated, TextMissing)
	case c.Bearer != "":
		c.AuthType = "ucan"
	}
	p, err := f.Identity.Authenticate(r.Context(), a.Surface, c)
	if err != nil {
		return cmp.Or(f.refuseContent(r.Context(), a.Surface, c), err)
	}
	a.Principal, a.RateKey = p, p.RateKey()
	return appkey.RefuseCIDs(p)
}

// refuseContent says of a token that holds for some content of the file store what it does
// not open: that it is no token for the oracle either would tell its holder to log in.
func (f Face) refuseContent(ctx context.Context, surface identity.Surface, c identity.Credentials) error {
	t, err := ucan.Parse(c.Bearer)
	if err != nil || surface == identity.Files || !slices.ContainsFunc(t.Leaf.Capabilities, named) {
		return nil //nolint:nilerr // the caller has the reason
	}
	p, err := f.Identity.Authenticate(ctx, identity.Files, identity.Credentials{Bearer: c.Bearer, From: c.From})
	if err == nil {
		return appkey.RefuseCIDs(p)
	}
	return nil
}

// named reports whether a capability names the contents that it reaches.
func named(c ucan.Capability) bool {
	_, ok := c.NB.Get("cids")
	return ok
}

// challenge tells programs what is wanted. Basic is asked for where programs mount
// folders alone: browsers open a window for it.
func challenge(w http.ResponseWriter, r *http.Request, scope appkey.Scope, err error) {
	switch {
	case fault.Is(err, fault.Unauthenticated) && scope == appkey.Files:
		w.Header().Set("WWW-Authenticate", `Basic realm="app key", charset="UTF-8"`)
		w.Header().Add("WWW-Authenticate", "Bearer")
	case fault.Is(err, fault.Unauthenticated) && r.Header.Get("Authorization") == "":
		w.Header().Set("WWW-Authenticate", "Bearer")
	case fault.Is(err, fault.Unauthenticated):
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
	case fault.Is(err, fault.Forbidden):
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope"`)
	}
}
