package oauth

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/castalia-org/castalia/plugin/strictjson"
)

// Tokens is what a token endpoint gave.
type Tokens struct {
	Access  string `json:"access"`
	Refresh string `json:"refresh,omitempty"`
	Scope   string `json:"scope,omitempty"`
	// Lifetime is how long the access token is good; zero when nobody said.
	Lifetime time.Duration `json:"-"`
}

// Error is a refusal by an authorization server, such as invalid_grant.
type Error struct {
	Status int
	Code   string
}

// Error names the code. What else the server said is not repeated.
func (e *Error) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("the authorization server answered %d", e.Status)
	}
	return "the authorization server answered " + e.Code
}

// Final reports whether an error says that a refresh token is of no use any more.
func Final(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && slices.Contains([]string{"invalid_grant", "invalid_client", "unauthorized_client"}, e.Code)
}

// Forgotten reports whether an error says that the authorization server does not know
// us, or not any more.
func Forgotten(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == "invalid_client"
}

// Exchange turns the code of an answer into tokens.
func (c *Client) Exchange(ctx context.Context, g Grant, redirect, code, verifier string) (Tokens, error) {
	return c.tokens(ctx, g, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {redirect}, "code_verifier": {verifier},
		"resource": {g.Resource},
	})
}

// Renew gets new tokens. The refresh token that comes back, if one does, takes the
// place of the old one.
func (c *Client) Renew(ctx context.Context, g Grant, refresh string) (Tokens, error) {
	return c.tokens(ctx, g, url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {refresh}, "resource": {g.Resource},
	})
}

// Revoke gives a token back (RFC 7009). hint is access_token or refresh_token.
func (c *Client) Revoke(ctx context.Context, g Grant, token, hint string) error {
	if g.Revoke == "" || token == "" {
		return nil
	}
	_, err := c.post(ctx, g.Revoke, g.Client, url.Values{"token": {token}, "token_type_hint": {hint}})
	return err
}

// maxLifetime bounds what is believed of a token's lifetime.
const maxLifetime = 365 * 24 * time.Hour

func (c *Client) tokens(ctx context.Context, g Grant, form url.Values) (Tokens, error) {
	body, err := c.post(ctx, g.Token, g.Client, form)
	if err != nil {
		return Tokens{}, err
	}
	var in struct {
		Access  string      `json:"access_token"`
		Type    string      `json:"token_type"`
		Refresh string      `json:"refresh_token"`
		Scope   string      `json:"scope"`
		Expires json.Number `json:"expires_in"`
	}
	if strictjson.Unmarshal(body, &in) != nil {
		return Tokens{}, errors.New("the authorization server did not answer with tokens")
	}
	if !strings.EqualFold(in.Type, "Bearer") {
		return Tokens{}, errors.New("the authorization server gave a token that is not a bearer")
	}
	scope, err := Scopes(in.Scope)
	if err != nil || !sendable(in.Access) || in.Refresh != "" && !sendable(in.Refresh) {
		return Tokens{}, errors.New("the authorization server gave a token that cannot be sent")
	}
	t := Tokens{Access: in.Access, Refresh: in.Refresh, Scope: scope}
	if seconds, err := in.Expires.Int64(); err == nil && seconds > 0 {
		t.Lifetime = time.Duration(min(seconds, int64(maxLifetime/time.Second))) * time.Second
	}
	return t, nil
}

// sendable reports whether a token fits into a header.
func sendable(token string) bool {
	return token != "" && len(token) <= maxSecret &&
		!strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
}

// Methods of client authentication.
const (
	basicSecret = "client_secret_basic"
	postSecret  = "client_secret_post"
	noSecret    = "none"
)

// post sends a form as the client.
func (c *Client) post(ctx context.Context, to string, as Registration, form url.Values) ([]byte, error) {
	if as.Secret == "" || as.Method != basicSecret {
		form.Set("client_id", as.ID)
		if as.Secret != "" {
			form.Set("client_secret", as.Secret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, errors.New("the address of the authorization server is not valid")
	}
	if as.Secret != "" && as.Method == basicSecret {
		req.SetBasicAuth(url.QueryEscape(as.ID), url.QueryEscape(as.Secret))
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return c.do(req)
}

// do sends a request and returns the body of a 2xx.
func (c *Client) do(req *http.Request) ([]byte, error) {
	req.Header.Set("Accept", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the address
		}
		return nil, fmt.Errorf("ask the authorization server: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, errors.New("the answer of the authorization server broke off")
	}
	if len(body) > maxAnswer {
		return nil, errors.New("the answer of the authorization server is too long")
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		refusal := &Error{Status: resp.StatusCode}
		var in struct {
			Code string `json:"error"`
		}
		if strictjson.Unmarshal(body, &in) == nil && len(in.Code) <= 64 && isCode(in.Code) {
			refusal.Code = in.Code
		}
		return nil, refusal
	}
	return body, nil
}

func isCode(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' })
}

// Register makes us known to an authorization server (RFC 7591), for the scopes that
// we mean to ask for, or without any where it does not know these: those of a resource
// need not be among its own.
func (c *Client) Register(ctx context.Context, f Found, name, site, redirect string) (Registration, error) {
	r, err := c.register(ctx, f, name, site, redirect)
	if e, ok := errors.AsType[*Error](err); ok && e.Code == "invalid_client_metadata" && f.Scope != "" {
		f.Scope = ""
		return c.register(ctx, f, name, site, redirect)
	}
	return r, err
}

func (c *Client) register(ctx context.Context, f Found, name, site, redirect string) (Registration, error) {
	want := oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{redirect}, ClientName: name, ClientURI: site, TokenEndpointAuthMethod: methodOf(f.Methods),
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"}, Scope: f.Scope,
	}
	if len(f.Grants) > 0 && !slices.Contains(f.Grants, "refresh_token") {
		want.GrantTypes = []string{"authorization_code"}
	}
	data, err := json.Marshal(want)
	if err != nil {
		return Registration{}, fmt.Errorf("encode registration: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.Register, bytes.NewReader(data))
	if err != nil {
		return Registration{}, errors.New("the address of the authorization server is not valid")
	}
	req.Header.Set("Content-Type", "application/json")
	body, err := c.do(req)
	if err != nil {
		return Registration{}, fmt.Errorf("register: %w", err)
	}
	var in struct {
		ID      string `json:"client_id"`
		Secret  string `json:"client_secret"`
		Expires int64  `json:"client_secret_expires_at"`
		Method  string `json:"token_endpoint_auth_method"`
	}
	if strictjson.Unmarshal(body, &in) != nil || !sendable(in.ID) || in.Secret != "" && !sendable(in.Secret) {
		return Registration{}, errors.New("the authorization server did not answer with a registration")
	}
	r := Registration{
		ID: in.ID, Secret: in.Secret, Method: cmp.Or(in.Method, want.TokenEndpointAuthMethod), Expires: in.Expires,
	}
	return r, r.check()
}

func (r Registration) check() error {
	if r.Secret != "" && r.Method != basicSecret && r.Method != postSecret {
		return errors.New("the authorization server wants clients to prove themselves in a way that is not supported")
	}
	return nil
}

// Known is a client that was registered by hand.
func (f Found) Known(id, secret string) Registration {
	method := methodOf(f.Methods)
	if secret != "" && method == noSecret {
		method = basicSecret
	}
	return Registration{ID: id, Secret: secret, Method: method}
}

// methodOf chooses how we prove who we are; a server that says nothing takes
// client_secret_basic (RFC 8414).
func methodOf(offered []string) string {
	for _, m := range []string{basicSecret, postSecret, noSecret} {
		if slices.Contains(offered, m) {
			return m
		}
	}
	return basicSecret
}
