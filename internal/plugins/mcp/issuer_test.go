package mcp_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// issuer is a strict authorization server: it wants PKCE with S256, the resource,
// the redirect that was registered and the client's secret; a code is good once,
// and a refresh token that comes twice costs the whole grant.
type issuer struct {
	t   *testing.T
	web *httptest.Server

	mu       sync.Mutex
	meta     map[string]any // what its metadata says; tests may change it
	resource string         // the only one it knows
	iss      string         // what it says of itself in answers
	scope    string         // what it gives, if not what was asked for
	lifetime int
	clients  map[string]client
	codes    map[string]code
	access   map[string]*family
	refresh  map[string]*family
	used     map[string]*family

	registered, renewed, reused, revoked int
	answer                               func(w http.ResponseWriter, r *http.Request) bool // takes the token endpoint over
}

type client struct{ secret, redirect string }

type code struct{ client, redirect, challenge, resource, scope string }

// family is all tokens of one authorization.
type family struct {
	client, resource, scope string
	dead                    bool
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	a := &issuer{
		t: t, lifetime: 3600, clients: map[string]client{}, codes: map[string]code{}, access: map[string]*family{},
		refresh: map[string]*family{}, used: map[string]*family{},
	}
	mux := http.NewServeMux()
	metadata := func(w http.ResponseWriter, _ *http.Request) { a.locked(func() { writeJSON(w, 200, a.meta) }) }
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", metadata)
	mux.HandleFunc("GET /.well-known/openid-configuration/tenant", metadata)
	mux.HandleFunc("POST /register", a.register)
	mux.HandleFunc("GET /authorize", a.authorize)
	mux.HandleFunc("POST /token", a.token)
	mux.HandleFunc("POST /revoke", a.revoke)
	a.web = httptest.NewServer(mux)
	t.Cleanup(a.web.Close)
	a.iss = a.web.URL
	a.meta = map[string]any{
		"issuer": a.web.URL, "authorization_endpoint": a.web.URL + "/authorize", "token_endpoint": a.web.URL + "/token",
		"registration_endpoint": a.web.URL + "/register", "revocation_endpoint": a.web.URL + "/revoke",
		"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		"token_endpoint_auth_methods_supported":          []string{"client_secret_basic"},
		"authorization_response_iss_parameter_supported": true,
	}
	return a
}

func (a *issuer) locked(do func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	do()
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, code string) { writeJSON(w, 400, map[string]string{"error": code}) }

func (a *issuer) register(w http.ResponseWriter, r *http.Request) {
	var in oauthex.ClientRegistrationMetadata
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.RedirectURIs) != 1 || in.ClientName == "" ||
		!slices.Contains(in.GrantTypes, "refresh_token") || in.TokenEndpointAuthMethod != "client_secret_basic" {
		refuse(w, "invalid_client_metadata")
		return
	}
	id, secret := rand.Text(), rand.Text()
	a.locked(func() {
		a.registered++
		a.clients[id] = client{secret, in.RedirectURIs[0]}
	})
	writeJSON(w, 201, map[string]any{
		"client_id": id, "client_secret": secret, "client_secret_expires_at": 0,
		"redirect_uris": in.RedirectURIs, "token_endpoint_auth_method": "client_secret_basic",
	})
}

// authorize asks nobody: whoever comes agrees.
func (a *issuer) authorize(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := r.URL.Query()
	known, ok := a.clients[q.Get("client_id")]
	if !ok || q.Get("redirect_uri") != known.redirect || q.Get("response_type") != "code" || q.Get("state") == "" ||
		q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 || q.Get("resource") != a.resource {
		http.Error(w, "bad request "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	c := rand.Text()
	a.codes[c] = code{q.Get("client_id"), q.Get("redirect_uri"), q.Get("code_challenge"), q.Get("resource"), q.Get("scope")}
	back := url.Values{"code": {c}, "state": {q.Get("state")}}
	if a.iss != "" {
		back.Set("iss", a.iss)
	}
	http.Redirect(w, r, known.redirect+"?"+back.Encode(), http.StatusFound)
}

func (a *issuer) who(r *http.Request) (string, bool) {
	id, secret, ok := r.BasicAuth()
	if !ok {
		known, listed := a.clients[r.PostFormValue("client_id")]
		return r.PostFormValue("client_id"), listed && known.secret == r.PostFormValue("client_secret")
	}
	known, listed := a.clients[id]
	return id, listed && secret != "" && known.secret == secret
}

func (a *issuer) token(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.answer != nil && a.answer(w, r) {
		return
	}
	id, ok := a.who(r)
	if !ok {
		writeJSON(w, 401, map[string]string{"error": "invalid_client"})
		return
	}
	var f *family
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		c, ok := a.codes[r.PostFormValue("code")]
		delete(a.codes, r.PostFormValue("code"))
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if !ok || c.client != id || c.redirect != r.PostFormValue("redirect_uri") || c.resource != r.PostFormValue("resource") ||
			c.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
			refuse(w, "invalid_grant")
			return
		}
		f = &family{client: id, resource: c.resource, scope: c.scope}
	case "refresh_token":
		old := r.PostFormValue("refresh_token")
		if again := a.used[old]; again != nil {
			a.reused++
			again.dead = true
		}
		if f = a.refresh[old]; f == nil || f.dead || f.client != id || f.resource != r.PostFormValue("resource") {
			refuse(w, "invalid_grant")
			return
		}
		a.renewed++
		delete(a.refresh, old)
		a.used[old] = f
	default:
		refuse(w, "unsupported_grant_type")
		return
	}
	if a.scope != "" {
		f.scope = a.scope
	}
	access, refresh := "access-"+rand.Text(), "refresh-"+rand.Text()
	a.access[access], a.refresh[refresh] = f, f
	writeJSON(w, 200, map[string]any{
		"access_token": access, "token_type": "bearer", "expires_in": a.lifetime, "refresh_token": refresh, "scope": f.scope,
	})
}

func (a *issuer) revoke(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.who(r); !ok {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	for _, all := range []map[string]*family{a.access, a.refresh} {
		if f := all[r.PostFormValue("token")]; f != nil {
			f.dead = true
			a.revoked++
		}
	}
}

// spoil makes all access tokens worthless, and the refresh tokens too.
func (a *issuer) spoil(all bool) {
	a.locked(func() {
		clear(a.access)
		if all {
			clear(a.refresh)
		}
	})
}

// secrets is everything that must not be seen in a log or in the store.
func (a *issuer) secrets() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []string
	for _, all := range []map[string]*family{a.access, a.refresh, a.used} {
		for token := range all {
			out = append(out, token)
		}
	}
	for _, c := range a.clients {
		out = append(out, c.secret)
	}
	return out
}

// protected is an MCP server behind the SDK's own middleware, which takes the
// issuer's tokens for itself alone.
type protected struct {
	*httptest.Server
	// meta is what it says of itself; tests may change it before it is asked.
	meta *oauthex.ProtectedResourceMetadata
	opts *auth.RequireBearerTokenOptions
	seen *seen
}

// seen are the bearers that came.
type seen struct {
	mu      sync.Mutex
	bearers []string
}

func (s *seen) add(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := r.Header.Get("Authorization"); b != "" {
		s.bearers = append(s.bearers, b)
	}
}

func (s *seen) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bearers)
}

type echoIn struct {
	Text string `json:"text"`
}

func newProtected(t *testing.T, a *issuer) *protected {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "Say it back.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *sdk.CallToolRequest, in echoIn) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "you said " + in.Text}}}, nil, nil
		})
	p := &protected{meta: &oauthex.ProtectedResourceMetadata{}, opts: &auth.RequireBearerTokenOptions{}, seen: &seen{}}
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		f := a.access[token]
		if f == nil || f.dead || f.resource != p.URL+"/mcp" {
			return nil, fmt.Errorf("%w: not one of ours", auth.ErrInvalidToken)
		}
		return &auth.TokenInfo{Expiration: time.Now().Add(time.Hour), Scopes: strings.Fields(f.scope)}, nil
	}
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server {
		return s
	}, &sdk.StreamableHTTPOptions{Stateless: true})
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		p.seen.add(r)
		auth.RequireBearerToken(verify, p.opts)(h).ServeHTTP(w, r)
	})
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, r *http.Request) {
		auth.ProtectedResourceMetadataHandler(p.meta).ServeHTTP(w, r)
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	a.locked(func() { a.resource = p.URL + "/mcp" })
	*p.meta = oauthex.ProtectedResourceMetadata{Resource: p.URL + "/mcp", AuthorizationServers: []string{a.web.URL}}
	p.opts.ResourceMetadataURL = p.URL + "/.well-known/oauth-protected-resource/mcp"
	return p
}
