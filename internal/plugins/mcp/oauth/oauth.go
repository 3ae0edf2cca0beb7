// Package oauth is the client's side of OAuth 2.1 as MCP servers want it: it
// finds out who authorizes for a server, registers, makes links, and gets, renews
// and gives back tokens.
//
// It promises that no request follows a redirect; that every address is https and
// public unless the caller allows others; that documents and answers are bounded;
// that metadata counts only for the resource and the issuer that it was asked
// for; that a code is bound to its link by PKCE (S256) and to its server by a
// resource indicator; and that its errors hold no secret. It keeps nothing.
//
// Decision: ADR 0207.
package oauth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// Dial connects to an address.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Client asks authorization servers.
type Client struct {
	http *http.Client
	// plain allows addresses without TLS.
	plain bool
}

// Bounds of what authorization servers say and of how long they take.
const (
	maxDocument    = 256 << 10
	maxAnswer      = 64 << 10
	maxSecret      = 8 << 10
	maxScope       = 2 << 10
	requestTimeout = 10 * time.Second
)

// New makes a client that connects by dial. plain lets addresses be without TLS.
func New(dial Dial, plain bool) *Client {
	inner := &http.Transport{
		DialContext: dial, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: requestTimeout, ResponseHeaderTimeout: requestTimeout,
		DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
	}
	return &Client{plain: plain, http: &http.Client{
		Transport: bounded{next: inner, plain: plain}, Timeout: requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// bounded refuses addresses without TLS, and reads no answer without end.
type bounded struct {
	next  http.RoundTripper
	plain bool
}

// RoundTrip sends the request.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && !b.plain {
		return nil, errors.New("an address is not https")
	}
	resp, err := b.next.RoundTrip(r)
	if err == nil {
		resp.Body = &limited{ReadCloser: resp.Body, left: maxDocument}
	}
	return resp, err
}

// limited is a body that fails when it is longer than allowed.
type limited struct {
	io.ReadCloser
	left int
}

// Read reads what is allowed.
func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errors.New("an answer is too long")
	}
	n, err := l.ReadCloser.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}

// Registration is who we are to an authorization server.
type Registration struct {
	ID     string `json:"id"`
	Secret string `json:"secret,omitempty"`
	// Method is client_secret_basic, client_secret_post or none.
	Method string `json:"method,omitempty"`
	// Expires is when the secret ends, in seconds; zero never.
	Expires int64 `json:"expires,omitempty"`
}

// Grant is where tokens for one resource come from, and as whom we ask.
type Grant struct {
	Resource  string `json:"resource"`
	Issuer    string `json:"issuer"`
	Authorize string `json:"authorize"`
	Token     string `json:"token"`
	Revoke    string `json:"revoke,omitempty"`
	// NamesIssuer says that the authorization server promised to name itself in its
	// answer (RFC 9207).
	NamesIssuer bool         `json:"namesIssuer,omitempty"`
	Scope       string       `json:"scope,omitempty"`
	Client      Registration `json:"client"`
}

// Found is what a server and its authorization server say of themselves.
type Found struct {
	Grant
	// Register is where clients register; empty when they cannot.
	Register string
	// Documents says that a client may be known by the address of a document.
	Documents bool
	// Methods are how clients may prove who they are, Grants what they may ask tokens
	// with; empty where nobody said.
	Methods, Grants []string
}

// Discover finds out who authorizes for a server that refused with the
// challenges.
func (c *Client) Discover(ctx context.Context, server string, challenges []string) (Found, error) {
	u, err := url.Parse(server)
	if err != nil {
		return Found{}, fmt.Errorf("parse address: %w", err)
	}
	origin := u.Scheme + "://" + u.Host
	metadata, scope := readChallenges(challenges, origin)
	resource, err := c.resource(ctx, metadata, u)
	if err != nil {
		return Found{}, err
	}
	if resource.DPOPBoundAccessTokensRequired || resource.TLSClientCertificateBoundAccessTokens {
		return Found{}, errors.New("the server wants tokens that are bound to a key, which are not supported")
	}
	if scope == "" {
		scope = strings.Join(resource.ScopesSupported, " ")
	}
	issuer := resource.AuthorizationServers[0]
	m, err := auth.GetAuthServerMetadata(ctx, issuer, c.http)
	if err != nil {
		return Found{}, fmt.Errorf("read metadata of the authorization server: %w", short(err))
	}
	if m == nil {
		return Found{}, errors.New("the authorization server has no metadata")
	}
	if !slices.Contains(m.CodeChallengeMethodsSupported, "S256") {
		return Found{}, errors.New("the authorization server does not support PKCE with S256")
	}
	offline := ""
	if slices.Contains(m.ScopesSupported, offlineAccess) {
		offline = offlineAccess
	}
	if scope, err = Scopes(scope, offline); err != nil {
		return Found{}, err
	}
	f := Found{
		Grant: Grant{
			Resource: resource.Resource, Issuer: m.Issuer, Authorize: m.AuthorizationEndpoint, Token: m.TokenEndpoint,
			Revoke: m.RevocationEndpoint, NamesIssuer: m.AuthorizationResponseIssParameterSupported, Scope: scope,
		},
		Register: m.RegistrationEndpoint, Documents: m.ClientIDMetadataDocumentSupported,
		Methods: m.TokenEndpointAuthMethodsSupported, Grants: m.GrantTypesSupported,
	}
	for _, address := range []string{f.Authorize, f.Token, cmp.Or(f.Revoke, f.Token), cmp.Or(f.Register, f.Token)} {
		if err := c.check(address); err != nil {
			return Found{}, err
		}
	}
	return f, nil
}

// offlineAccess is the scope by which some servers are asked for refresh tokens.
const offlineAccess = "offline_access"

// maxAddress bounds addresses that metadata names.
const maxAddress = 2048

// check says what is wrong with an address of the metadata.
func (c *Client) check(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || len(address) > maxAddress ||
		u.Scheme != "https" && (u.Scheme != "http" || !c.plain) {
		return errors.New("the metadata of the authorization server has an address that is not https")
	}
	return nil
}

// resource reads what the server says of itself: at the address that it named, if
// that is on its own origin, and at the well-known ones. A server without that is,
// as before 2025-06-18, its own authorization server.
func (c *Client) resource(ctx context.Context, named string, u *url.URL) (*oauthex.ProtectedResourceMetadata, error) {
	origin := u.Scheme + "://" + u.Host
	const wellKnown = "/.well-known/oauth-protected-resource"
	places := []struct{ at, of string }{
		{named, u.String()},
		{origin + wellKnown + strings.TrimSuffix(u.EscapedPath(), "/"), u.String()},
		{origin + wellKnown, origin},
	}
	for _, p := range places {
		if p.at == "" {
			continue
		}
		m, err := oauthex.GetProtectedResourceMetadata(ctx, p.at, p.of, c.http)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil || m == nil {
			continue
		}
		if len(m.AuthorizationServers) == 0 {
			return nil, errors.New("the server names no authorization server")
		}
		return m, nil
	}
	return &oauthex.ProtectedResourceMetadata{Resource: u.String(), AuthorizationServers: []string{origin}}, nil
}

// readChallenges returns where the server's metadata is, if it named a place on
// its own origin, and which scopes it wants.
func readChallenges(challenges []string, origin string) (metadata, scope string) {
	for _, header := range challenges {
		list, err := oauthex.ParseWWWAuthenticate([]string{header})
		if err != nil {
			continue
		}
		for _, one := range list {
			if one.Scheme != "bearer" {
				continue
			}
			if at := one.Params["resource_metadata"]; metadata == "" && strings.HasPrefix(at, origin+"/") {
				metadata = at
			}
			if scope == "" {
				scope = one.Params["scope"]
			}
		}
	}
	return metadata, scope
}

// LacksScope reports whether a server refused because a token's scope is too small,
// and what it wants in its place.
func LacksScope(challenges []string) (scope string, lacks bool) {
	for _, header := range challenges {
		list, err := oauthex.ParseWWWAuthenticate([]string{header})
		if err != nil {
			continue
		}
		for _, one := range list {
			if one.Scheme == "bearer" && one.Params["error"] == "insufficient_scope" {
				scope, _ = Scopes(one.Params["scope"]) // none, if it names none that can be asked for
				return scope, true
			}
		}
	}
	return "", false
}

// errScope is for lists of scopes that nobody can ask for.
var errScope = errors.New("the server asks for scopes that cannot be asked for")

// Scopes is the one spelling of all scopes of some lists (RFC 6749, 3.3, where their order
// means nothing): each once, sorted, with a space between two. It refuses what is no list of
// scopes, and more than maxScope of them all.
func Scopes(lists ...string) (string, error) {
	var all []string
	for _, list := range lists {
		if strings.ContainsFunc(list, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
			return "", errScope
		}
		all = append(all, strings.Fields(list)...)
	}
	slices.Sort(all)
	one := strings.Join(slices.Compact(all), " ")
	if len(one) > maxScope {
		return "", errScope
	}
	return one, nil
}

// Link is what the user opens: the authorization server asks whether we may, and
// leads back to redirect with the state.
func (g Grant) Link(redirect, state, verifier string) (string, error) {
	u, err := url.Parse(g.Authorize)
	if err != nil {
		return "", fmt.Errorf("parse address: %w", err)
	}
	sum := sha256.Sum256([]byte(verifier))
	q := u.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": g.Client.ID, "redirect_uri": redirect, "state": state, "resource": g.Resource,
		"scope": g.Scope, "code_challenge": base64.RawURLEncoding.EncodeToString(sum[:]), "code_challenge_method": "S256",
	} {
		q.Set(name, value)
	}
	if g.Scope == "" {
		q.Del("scope")
	}
	if slices.Contains(strings.Fields(g.Scope), offlineAccess) {
		q.Set("prompt", "consent") // without it the scope is ignored (OpenID Connect Core, 11)
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// CheckIssuer says whether an answer may come from the authorization server that
// was asked (RFC 9207): iss is what the answer says.
func (g Grant) CheckIssuer(iss string) error {
	if iss == "" && g.NamesIssuer {
		return errors.New("the answer does not say from whom it is, as was promised")
	}
	if iss != "" && iss != g.Issuer {
		return errors.New("the answer is from another authorization server")
	}
	return nil
}

// short bounds what an error says: some repeat what a stranger wrote.
func short(err error) error {
	const most = 300
	text := err.Error()
	if len(text) <= most {
		return err
	}
	return errors.New(strings.ToValidUTF8(text[:most], "") + " …")
}
