package mcp_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/plugins/mcp"
	"github.com/castalia-org/castalia/internal/plugins/mcp/mcptest"
)

// trap is another origin that counts who comes.
func trap(t *testing.T) (address string, hits *atomic.Int64) {
	t.Helper()
	hits = new(atomic.Int64)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		mcptest.WriteJSON(w, 200, map[string]any{"access_token": "evil", "token_type": "bearer"})
	}))
	t.Cleanup(web.Close)
	return web.URL, hits
}

// Metadata counts for the server and the issuer that were asked, and for no other.
func TestMetadataOfOthersDoesNotCount(t *testing.T) {
	t.Parallel()
	elsewhere, hits := trap(t)
	for name, c := range map[string]struct {
		change func(a *mcptest.Issuer, s *mcptest.Protected)
		works  bool
	}{
		"it is said to be at another origin": {func(_ *mcptest.Issuer, s *mcptest.Protected) { s.Options.ResourceMetadataURL = elsewhere + "/meta" }, true},
		"nobody says where it is":            {func(_ *mcptest.Issuer, s *mcptest.Protected) { s.Options.ResourceMetadataURL = "" }, true},
		"by OpenID Connect, below a path": {func(a *mcptest.Issuer, s *mcptest.Protected) {
			s.Meta.AuthorizationServers = []string{a.Web.URL + "/tenant"}
			a.Meta["issuer"], a.Name = a.Web.URL+"/tenant", a.Web.URL+"/tenant"
		}, true},
		"it is for another resource": {func(_ *mcptest.Issuer, s *mcptest.Protected) { s.Meta.Resource = elsewhere + "/mcp" }, false},
		"it names no issuer":         {func(_ *mcptest.Issuer, s *mcptest.Protected) { s.Meta.AuthorizationServers = nil }, false},
		"it wants bound tokens":      {func(_ *mcptest.Issuer, s *mcptest.Protected) { s.Meta.DPOPBoundAccessTokensRequired = true }, false},
		"the issuer is another":      {func(a *mcptest.Issuer, _ *mcptest.Protected) { a.Meta["issuer"] = elsewhere }, false},
		"there is no PKCE":           {func(a *mcptest.Issuer, _ *mcptest.Protected) { delete(a.Meta, "code_challenge_methods_supported") }, false},
		"there is only plain PKCE": {func(a *mcptest.Issuer, _ *mcptest.Protected) {
			a.Meta["code_challenge_methods_supported"] = []string{"plain"}
		}, false},
		"a script in place of a page": {func(a *mcptest.Issuer, _ *mcptest.Protected) {
			a.Meta["authorization_endpoint"] = "javascript:alert(1)"
		}, false},
		"a page with a password":  {func(a *mcptest.Issuer, _ *mcptest.Protected) { a.Meta["token_endpoint"] = "http://u:p@127.0.0.1/token" }, false},
		"a document without end":  {func(a *mcptest.Issuer, _ *mcptest.Protected) { a.Meta["padding"] = strings.Repeat("x", 300<<10) }, false},
		"nobody can register":     {func(a *mcptest.Issuer, _ *mcptest.Protected) { delete(a.Meta, "registration_endpoint") }, false},
		"scopes that are not any": {func(_ *mcptest.Issuer, s *mcptest.Protected) { s.Meta.ScopesSupported = []string{"a\"b"} }, false},
		"so many scopes": {func(_ *mcptest.Issuer, s *mcptest.Protected) {
			s.Options.Scopes = []string{strings.Repeat("s", 3000)}
		}, false},
		"the registration is no document": {func(a *mcptest.Issuer, _ *mcptest.Protected) {
			a.Meta["registration_endpoint"] = elsewhere + "/register"
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := mcptest.NewIssuer(t)
			server := mcptest.NewProtected(t, a)
			c.change(a, server)
			w := open(t, private)
			alice := w.As(t, identitytest.Alice)
			if c.works {
				authorized(t, alice, "notes", server.URL+"/mcp")
				return
			}
			if s := add(t, alice, "notes", server.URL+"/mcp"); s.State != mcp.WantsUser || s.Authorization != nil || s.Error == "" {
				t.Errorf("%+v", s)
			}
			if r := alice.Do("POST", "/mcp-servers/notes/authorize", nil); r.Status != http.StatusConflict {
				t.Errorf("%d %s", r.Status, r.Body)
			}
		})
	}
	t.Cleanup(func() {
		if n := hits.Load(); n > 2 { // the registration that the issuer itself named, twice
			t.Errorf("another origin was asked %d times", n)
		}
	})
}

// What comes back to the callback is believed only as far as it fits the link.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	with := func(t *testing.T, back, name, value string) string {
		t.Helper()
		u, err := url.Parse(back)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		q.Del(name)
		if value != "" {
			q.Set(name, value)
		}
		u.RawQuery = q.Encode()
		return u.String()
	}
	for name, c := range map[string]struct {
		change func(t *testing.T, back, others string) string
		status int
	}{
		"from another issuer": {func(t *testing.T, back, _ string) string { return with(t, back, "iss", "https://evil.example") }, 400},
		"from nobody":         {func(t *testing.T, back, _ string) string { return with(t, back, "iss", "") }, 400},
		"another's code": {func(t *testing.T, back, others string) string {
			u, err := url.Parse(others)
			if err != nil {
				t.Fatal(err)
			}
			return with(t, back, "code", u.Query().Get("code"))
		}, 502},
		"a made-up code":   {func(t *testing.T, back, _ string) string { return with(t, back, "code", "MADEUP") }, 502},
		"no code":          {func(t *testing.T, back, _ string) string { return with(t, back, "code", "") }, 400},
		"a made-up state":  {func(t *testing.T, back, _ string) string { return with(t, back, "state", "MADEUP") }, 410},
		"no state":         {func(t *testing.T, back, _ string) string { return with(t, back, "state", "") }, 410},
		"two states":       {func(_ *testing.T, back, _ string) string { return back + "&state=x" }, 400},
		"the user refused": {func(t *testing.T, back, _ string) string { return with(t, back, "error", "<script>alert(1)</script>") }, 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := mcptest.NewIssuer(t)
			server := mcptest.NewProtected(t, a)
			w := open(t, private)
			alice, bob := w.As(t, identitytest.Alice), w.As(t, identitytest.Bob)
			back := mcptest.Agree(t, add(t, alice, "notes", server.URL+"/mcp").Authorization.URL)
			others := mcptest.Agree(t, add(t, bob, "notes", server.URL+"/mcp").Authorization.URL)
			status, _, body := mcptest.Visit(t, c.change(t, back, others))
			if status != c.status || strings.Contains(body, "<code>") || strings.Contains(body, "<script>") {
				t.Errorf("%d %s", status, body)
			}
			if kept := w.kept(t); kept["a"].Value != nil || kept["g"].Value != nil {
				t.Errorf("something was kept: %v", kept)
			}
			w.holdsNoSecret(t, a.Secrets()...)
		})
	}
}

// An issuer sends people on to another, which knows us and does not say who it is, and waits
// for the code that they bring back from there (the mix-up of RFC 9700, 4.4).
func TestAnIssuerThatSendsPeopleOn(t *testing.T) {
	t.Parallel()
	honest, evil := mcptest.NewIssuer(t), mcptest.NewIssuer(t)
	honest.Name = ""
	for _, a := range []*mcptest.Issuer{honest, evil} {
		delete(a.Meta, "authorization_response_iss_parameter_supported")
	}
	server := mcptest.NewProtected(t, honest)
	w := open(t, private)
	authorized(t, w.As(t, identitytest.Alice), "notes", server.URL+"/mcp")
	var ours string
	honest.Locked(func() {
		for id := range honest.Clients {
			ours = id
		}
	})
	register := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mcptest.WriteJSON(w, http.StatusCreated, map[string]string{"client_id": ours, "token_endpoint_auth_method": "none"})
	}))
	t.Cleanup(register.Close)
	evil.Meta["registration_endpoint"], evil.Meta["authorization_endpoint"] = register.URL, honest.Web.URL+"/authorize"
	var codes atomic.Int64
	evil.Answer = func(http.ResponseWriter, *http.Request) bool {
		codes.Add(1)
		return false
	}
	server.Meta.AuthorizationServers = []string{evil.Web.URL}
	link := add(t, w.As(t, identitytest.Bob), "notes", server.URL+"/mcp").Authorization.URL
	_, there, _ := mcptest.Visit(t, link)
	if status, back, _ := mcptest.Visit(t, there); status == http.StatusFound {
		mcptest.Visit(t, back)
	}
	if n := codes.Load(); n != 0 {
		t.Errorf("the issuer was sent %d codes of the other", n)
	}
	// A code that comes to another's address goes nowhere either.
	u, err := url.Parse(there)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/mcp-servers/callback", "/mcp-servers/answer/AAAAAAAAAAAAAAAAAAAAAA"} {
		_, _, body := mcptest.Visit(t, w.URL+path+"?code=x&state="+u.Query().Get("state"))
		if n := codes.Load(); n != 0 || strings.Contains(body, "<code>") {
			t.Errorf("%s: the issuer was sent %d codes: %s", path, n, body)
		}
	}
}

// Somebody makes another person open a link: without the code that the page
// shows to that person nobody gets anything, or can guess it.
func TestALinkThatSomebodyElseOpens(t *testing.T) {
	t.Parallel()
	a := mcptest.NewIssuer(t)
	server := mcptest.NewProtected(t, a)
	w := open(t, private)
	mallory := w.As(t, identitytest.Bob)
	link := add(t, mallory, "notes", server.URL+"/mcp").Authorization.URL
	code := mcptest.Code(t, mcptest.Agree(t, link)) // it is Alice who sees it
	for i, want := range []int{403, 403, 403, 403, 403, 404} {
		if r := mallory.Do("POST", "/mcp-servers/notes/confirm", mcp.Confirmation{Code: "AAAA-AAAA"}); r.Status != want {
			t.Errorf("guess %d: %d %s", i, r.Status, r.Body)
		}
	}
	if r := mallory.Do("POST", "/mcp-servers/notes/confirm", mcp.Confirmation{Code: code}); r.Status != http.StatusNotFound {
		t.Errorf("after too many guesses: %d %s", r.Status, r.Body)
	}
	if got := stateOf(t, mallory, "notes"); got.State != mcp.WantsUser || len(server.Seen()) != 0 {
		t.Errorf("%+v, tokens %v", got, server.Seen())
	}
}

// A server whose address was changed after the link was made gets no token.
func TestTokensStayWithTheirAddress(t *testing.T) {
	t.Parallel()
	a := mcptest.NewIssuer(t)
	server, elsewhere := mcptest.NewProtected(t, a), mcptest.NewProtected(t, mcptest.NewIssuer(t))
	w := open(t, private)
	alice := w.As(t, identitytest.Alice)
	authorized(t, alice, "notes", server.URL+"/mcp")
	link := alice.Do("POST", "/mcp-servers/notes/authorize", nil)
	var begun mcp.Authorization
	link.JSON(t, &begun)
	code := mcptest.Code(t, mcptest.Agree(t, begun.URL))
	if s := add(t, alice, "notes", elsewhere.URL+"/mcp"); s.State != mcp.WantsUser {
		t.Errorf("moved: %+v", s)
	}
	if r := alice.Do("POST", "/mcp-servers/notes/confirm", mcp.Confirmation{Code: code}); r.Status != http.StatusNotFound {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	stateOf(t, alice, "notes")
	if seen := elsewhere.Seen(); len(seen) != 0 {
		t.Errorf("another server saw %v", seen)
	}
	if a.Revoked == 0 {
		t.Error("what was authorized at the old address was not revoked")
	}
}

// Neither codes nor tokens follow a redirect, and an answer of a token endpoint
// is bounded and checked.
func TestHostileTokenEndpoint(t *testing.T) {
	t.Parallel()
	elsewhere, hits := trap(t)
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request) bool{
		"it leads elsewhere": func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
			return true
		},
		"it never ends": func(w http.ResponseWriter, _ *http.Request) bool {
			mcptest.WriteJSON(w, 200, map[string]string{"access_token": strings.Repeat("x", 100<<10), "token_type": "bearer"})
			return true
		},
		"a token that breaks headers": func(w http.ResponseWriter, _ *http.Request) bool {
			mcptest.WriteJSON(w, 200, map[string]string{"access_token": "a\r\nX: y", "token_type": "bearer"})
			return true
		},
		"a token that is not a bearer": func(w http.ResponseWriter, _ *http.Request) bool {
			mcptest.WriteJSON(w, 200, map[string]string{"access_token": "a", "token_type": "DPoP"})
			return true
		},
		"a token twice": func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write([]byte(`{"access_token":"a","access_token":"b","token_type":"bearer"}`))
			return true
		},
		"nonsense": func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write([]byte(`<html>`))
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := mcptest.NewIssuer(t)
			a.Answer = answer
			server := mcptest.NewProtected(t, a)
			w := open(t, private)
			back := mcptest.Agree(t, add(t, w.As(t, identitytest.Alice), "notes", server.URL+"/mcp").Authorization.URL)
			if status, _, body := mcptest.Visit(t, back); status != http.StatusBadGateway || strings.Contains(body, "<code>") {
				t.Errorf("%d %s", status, body)
			}
		})
	}
	t.Cleanup(func() {
		if n := hits.Load(); n != 0 {
			t.Errorf("another origin was asked %d times", n)
		}
	})
}

// An MCP server that leads elsewhere does not take the token with it.
func TestTokensDoNotFollowRedirects(t *testing.T) {
	t.Parallel()
	elsewhere, hits := trap(t)
	w, _ := opened(t)
	server, alice := w.server, w.alice
	for _, to := range []string{elsewhere + "/mcp", "/mcp2"} {
		server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/mcp2" {
				hits.Add(1)
			}
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		})
		alice.Do("POST", "/mcp-servers", mcp.Addition{Name: "notes", URL: server.URL + "/mcp"})
		list, err := w.plugin.MCPServers(t.Context(), runtimeOf(identitytest.Alice))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.engine.Call(t.Context(), list[0], "echo", nil); err == nil {
			t.Error("it answered")
		}
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("%d requests went on", n)
	}
}
