// Package mcptest has MCP servers that want an authorization, and who gives it, for
// tests of those who use them.
//
// The authorization server is strict: whatever a client does that the protocol
// does not allow fails.
package mcptest

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

// Issuer is a strict authorization server: it wants PKCE with S256, the resource,
// the redirect that was registered and the client's secret; it gives offline access
// to who lets the user be asked; a code is good once, and a refresh token that comes
// twice costs the whole grant.
type Issuer struct {
	Web *httptest.Server

	// Meta is what its metadata says; tests may change it, as all that follows.
	Meta    map[string]any
	Name    string // what it says of itself in answers
	Clients map[string]Client
	// Scopes are those that clients may register for; nil are all.
	Scopes []string
	// Registered, Renewed, Reused and Revoked count what clients did.
	Registered, Renewed, Reused, Revoked int
	// Answer, when it returns true, has answered in place of the token endpoint.
	Answer func(w http.ResponseWriter, r *http.Request) bool

	mu       sync.Mutex
	resource string // the only one it knows
	codes    map[string]code
	access   map[string]*family
	refresh  map[string]*family
	used     map[string]*family
}

// Client is somebody whom an Issuer knows.
type Client struct{ Secret, Redirect, Scope string }

type code struct{ client, redirect, challenge, resource, scope string }

// family is all tokens of one authorization.
type family struct {
	client, resource, scope string
	dead                    bool
}

// NewIssuer starts one, which ends with the test.
func NewIssuer(t *testing.T) *Issuer {
	t.Helper()
	a := &Issuer{
		Clients: map[string]Client{}, codes: map[string]code{}, access: map[string]*family{},
		refresh: map[string]*family{}, used: map[string]*family{},
	}
	mux := http.NewServeMux()
	metadata := func(w http.ResponseWriter, _ *http.Request) { a.Locked(func() { WriteJSON(w, 200, a.Meta) }) }
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", metadata)
	mux.HandleFunc("GET /.well-known/openid-configuration/tenant", metadata)
	mux.HandleFunc("POST /register", a.register)
	mux.HandleFunc("GET /authorize", a.authorize)
	mux.HandleFunc("POST /token", a.token)
	mux.HandleFunc("POST /revoke", a.revoke)
	a.Web = httptest.NewServer(mux)
	t.Cleanup(a.Web.Close)
	a.Name = a.Web.URL
	a.Meta = map[string]any{
		"issuer": a.Web.URL, "authorization_endpoint": a.Web.URL + "/authorize", "token_endpoint": a.Web.URL + "/token",
		"registration_endpoint": a.Web.URL + "/register", "revocation_endpoint": a.Web.URL + "/revoke",
		"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		"token_endpoint_auth_methods_supported":          []string{"client_secret_basic"},
		"authorization_response_iss_parameter_supported": true,
	}
	return a
}

// Locked lets a test look while nobody else changes anything.
func (a *Issuer) Locked(do func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	do()
}

// WriteJSON answers as authorization servers do.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, code string) { WriteJSON(w, 400, map[string]string{"error": code}) }

func (a *Issuer) register(w http.ResponseWriter, r *http.Request) {
	var in oauthex.ClientRegistrationMetadata
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.RedirectURIs) != 1 || in.ClientName == "" ||
		slices.Contains(in.GrantTypes, "refresh_token") != a.renews() || in.TokenEndpointAuthMethod != "client_secret_basic" {
		refuse(w, "invalid_client_metadata")
		return
	}
	for scope := range strings.FieldsSeq(in.Scope) {
		if a.Scopes != nil && !slices.Contains(a.Scopes, scope) {
			refuse(w, "invalid_client_metadata")
			return
		}
	}
	id, secret := rand.Text(), rand.Text()
	a.Locked(func() {
		a.Registered++
		a.Clients[id] = Client{secret, in.RedirectURIs[0], in.Scope}
	})
	WriteJSON(w, 201, map[string]any{
		"client_id": id, "client_secret": secret, "client_secret_expires_at": 0,
		"redirect_uris": in.RedirectURIs, "token_endpoint_auth_method": "client_secret_basic",
	})
}

// renews reports whether there are refresh tokens here.
func (a *Issuer) renews() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	grants, said := a.Meta["grant_types_supported"].([]string)
	return !said || slices.Contains(grants, "refresh_token")
}

// authorize asks nobody: whoever comes agrees.
func (a *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := r.URL.Query()
	known, ok := a.Clients[q.Get("client_id")]
	if !ok || q.Get("redirect_uri") != known.Redirect || q.Get("response_type") != "code" || q.Get("state") == "" ||
		q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 || q.Get("resource") != a.resource ||
		slices.Contains(strings.Fields(q.Get("scope")), "offline_access") && q.Get("prompt") != "consent" {
		http.Error(w, "bad request "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	c := rand.Text()
	a.codes[c] = code{q.Get("client_id"), q.Get("redirect_uri"), q.Get("code_challenge"), q.Get("resource"), q.Get("scope")}
	back := url.Values{"code": {c}, "state": {q.Get("state")}}
	if a.Name != "" {
		back.Set("iss", a.Name)
	}
	http.Redirect(w, r, known.Redirect+"?"+back.Encode(), http.StatusFound)
}

func (a *Issuer) who(r *http.Request) (string, bool) {
	id, secret, ok := r.BasicAuth()
	if !ok {
		known, listed := a.Clients[r.PostFormValue("client_id")]
		return r.PostFormValue("client_id"), listed && known.Secret == r.PostFormValue("client_secret")
	}
	known, listed := a.Clients[id]
	return id, listed && secret != "" && known.Secret == secret
}

func (a *Issuer) token(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.Answer != nil && a.Answer(w, r) {
		return
	}
	id, ok := a.who(r)
	if !ok {
		WriteJSON(w, 401, map[string]string{"error": "invalid_client"})
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
			a.Reused++
			again.dead = true
		}
		if f = a.refresh[old]; f == nil || f.dead || f.client != id || f.resource != r.PostFormValue("resource") {
			refuse(w, "invalid_grant")
			return
		}
		a.Renewed++
		delete(a.refresh, old)
		a.used[old] = f
	default:
		refuse(w, "unsupported_grant_type")
		return
	}
	access, refresh := "access-"+rand.Text(), "refresh-"+rand.Text()
	a.access[access], a.refresh[refresh] = f, f
	WriteJSON(w, 200, map[string]any{
		"access_token": access, "token_type": "bearer", "expires_in": 3600, "refresh_token": refresh, "scope": f.scope,
	})
}

func (a *Issuer) revoke(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.who(r); !ok {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	for _, all := range []map[string]*family{a.access, a.refresh} {
		if f := all[r.PostFormValue("token")]; f != nil {
			f.dead = true
			a.Revoked++
		}
	}
}

// Spoil makes all access tokens worthless, and the refresh tokens too.
func (a *Issuer) Spoil(all bool) {
	a.Locked(func() {
		clear(a.access)
		if all {
			clear(a.refresh)
		}
	})
}

// Secrets is everything that must not be seen in a log or in the store.
func (a *Issuer) Secrets() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []string
	for _, all := range []map[string]*family{a.access, a.refresh, a.used} {
		for token := range all {
			out = append(out, token)
		}
	}
	for _, c := range a.Clients {
		out = append(out, c.Secret)
	}
	return out
}

// Protected is an MCP server behind the SDK's own middleware, which takes the
// issuer's tokens for itself alone.
type Protected struct {
	*httptest.Server
	// Meta is what it says of itself, Options what it wants of tokens; tests may change
	// them while nobody asks.
	Meta    *oauthex.ProtectedResourceMetadata
	Options *auth.RequireBearerTokenOptions

	mu      sync.Mutex
	bearers []string
}

// Seen are the bearers that came.
func (p *Protected) Seen() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.bearers)
}

type echoIn struct {
	Text string `json:"text"`
}

// NewProtected starts one, at /mcp, with one tool.
func NewProtected(t *testing.T, a *Issuer) *Protected {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "Say it back.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *sdk.CallToolRequest, in echoIn) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "you said " + in.Text}}}, nil, nil
		})
	p := &Protected{Meta: &oauthex.ProtectedResourceMetadata{}, Options: &auth.RequireBearerTokenOptions{}}
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
		p.mu.Lock()
		if b := r.Header.Get("Authorization"); b != "" {
			p.bearers = append(p.bearers, b)
		}
		p.mu.Unlock()
		auth.RequireBearerToken(verify, p.Options)(h).ServeHTTP(w, r)
	})
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, r *http.Request) {
		auth.ProtectedResourceMetadataHandler(p.Meta).ServeHTTP(w, r)
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	a.Locked(func() { a.resource = p.URL + "/mcp" })
	*p.Meta = oauthex.ProtectedResourceMetadata{Resource: p.URL + "/mcp", AuthorizationServers: []string{a.Web.URL}}
	p.Options.ResourceMetadataURL = p.URL + "/.well-known/oauth-protected-resource/mcp"
	return p
}
