package mcp_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/plugins/mcp"
	"github.com/castalia-org/castalia/internal/plugins/mcp/mcptest"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/pluginhttp"
)

// An issuer that is away costs nobody the authorization.
func TestAnIssuerThatIsAway(t *testing.T) {
	t.Parallel()
	w, a := opened(t)
	away := func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	a.Locked(func() { a.Answer = away })
	before, err := accessOf(t, w.plugin).Token(t.Context())
	if err != nil || before == "" {
		t.Fatal(before, err)
	}
	w.age(t, 1<<60)
	if got, err := accessOf(t, w.plugin).Token(t.Context()); err != nil || got != before {
		t.Errorf("a token that is still good: %q %v", got, err)
	}
	w.age(t, 2)
	if got, err := accessOf(t, w.plugin).Token(t.Context()); err == nil || got != "" {
		t.Errorf("a token that is over: %q", got)
	}
	a.Locked(func() { a.Answer = nil })
	got, err := accessOf(t, w.plugin).Token(t.Context())
	if err != nil || got == "" || got == before || a.Reused != 0 {
		t.Errorf("afterwards: %q %v", got, err)
	}
}

// What is removed while it is renewed stays removed.
func TestRemovedWhileRenewed(t *testing.T) {
	t.Parallel()
	w, a := opened(t)
	access := accessOf(t, w.plugin)
	w.age(t, 2)
	store, key := w.Store.PluginStore("mcp"), w.kept(t)["g"].Key
	a.Locked(func() {
		a.Answer = func(http.ResponseWriter, *http.Request) bool {
			if err := store.Update(t.Context(), func(ctx context.Context, tx plugin.Tx) error {
				return tx.Delete(ctx, key)
			}); err != nil {
				t.Error(err)
			}
			return false
		}
	})
	if got, err := access.Token(t.Context()); err != nil || got != "" {
		t.Errorf("%q %v", got, err)
	}
	if kept := w.kept(t); kept["g"].Value != nil || a.Renewed != 1 {
		t.Errorf("renewed %d times, kept %s", a.Renewed, kept["g"].Value)
	}
}

// A turn that ends while it renews does not lose the new refresh token.
func TestATurnThatEndsWhileItRenews(t *testing.T) {
	t.Parallel()
	w, a := opened(t)
	w.age(t, 2)
	ctx, cancel := context.WithCancel(t.Context())
	a.Locked(func() {
		a.Answer = func(http.ResponseWriter, *http.Request) bool {
			cancel()
			return false
		}
	})
	_, _ = accessOf(t, w.plugin).Token(ctx)
	got, err := accessOf(t, w.plugin).Token(t.Context())
	if err != nil || got == "" || a.Renewed != 1 || a.Reused != 0 {
		t.Errorf("%q %v, renewed %d times, reused %d times", got, err, a.Renewed, a.Reused)
	}
}

// A token whose scope is too small is asked for again, with more.
func TestMoreScope(t *testing.T) {
	t.Parallel()
	a := mcptest.NewIssuer(t)
	server := mcptest.NewProtected(t, a)
	w := open(t, private)
	alice := w.As(t, identitytest.Alice)
	server.Options.Scopes = []string{"read"}
	authorized(t, alice, "notes", server.URL+"/mcp")
	server.Options.Scopes = []string{"read", "write"}
	list, err := w.plugin.MCPServers(t.Context(), runtimeOf(identitytest.Alice))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.engine.Call(t.Context(), list[0], "echo", json.RawMessage(`{"text":"x"}`)); err == nil ||
		!strings.Contains(err.Error(), "wants the user's authorization") {
		t.Errorf("%v", err)
	}
	again, err := list[0].Access.Refused(t.Context(), "any", []string{`Bearer error="insufficient_scope", scope="write"`})
	if err != nil || again {
		t.Errorf("%t %v", again, err)
	}
	var link mcp.Authorization
	alice.Do("POST", "/mcp-servers/notes/authorize", nil).JSON(t, &link)
	code := mcptest.Code(t, mcptest.Agree(t, link.URL))
	var s mcp.Server
	alice.Do("POST", "/mcp-servers/notes/confirm", mcp.Confirmation{Code: code}).JSON(t, &s)
	if s.State != mcp.Ready {
		t.Errorf("%+v", s)
	}
}

// The operator's own client is used at the issuer that it is for, and nowhere else.
func TestKnownClient(t *testing.T) {
	t.Parallel()
	a := mcptest.NewIssuer(t)
	server := mcptest.NewProtected(t, a)
	delete(a.Meta, "registration_endpoint")
	for issuer, status := range map[string]int{a.Web.URL: http.StatusOK, "https://other.example": http.StatusConflict} {
		cfg := private
		cfg.Clients = server.URL + " " + issuer + " our-id our-secret"
		w := open(t, cfg)
		a.Locked(func() {
			a.Clients["our-id"] = mcptest.Client{Secret: "our-secret", Redirect: w.URL + "/mcp-servers/callback"}
		})
		alice := w.As(t, identitytest.Alice)
		if status == http.StatusOK {
			authorized(t, alice, "notes", server.URL+"/mcp")
			w.holdsNoSecret(t, a.Secrets()...)
			continue
		}
		add(t, alice, "notes", server.URL+"/mcp")
		if r := alice.Do("POST", "/mcp-servers/notes/authorize", nil); r.Status != status {
			t.Errorf("%s: %d %s", issuer, r.Status, r.Body)
		}
	}
}

// Where nobody registers, the address of a document says who we are.
func TestKnownByADocument(t *testing.T) {
	t.Parallel()
	a := mcptest.NewIssuer(t)
	server := mcptest.NewProtected(t, a)
	delete(a.Meta, "registration_endpoint")
	a.Meta["client_id_metadata_document_supported"] = true
	sum := sha256.Sum256([]byte("issuer " + a.Web.URL))
	answer := "https://oracle.example/mcp-servers/answer/" + base64.RawURLEncoding.EncodeToString(sum[:])[:22]
	ours := "/mcp-servers/client/" + base64.RawURLEncoding.EncodeToString([]byte(a.Web.URL))
	a.Clients["https://oracle.example"+ours] = mcptest.Client{Redirect: answer}
	w := open(t, private, func(d *oraclekit.Deps) {
		d.BaseURL = "https://oracle.example"
		d.Provider = scripted.Sequence(scripted.Calls(plugin.ModelToolCall{
			ID: "1", Name: "mcp_authorize", Args: json.RawMessage(`{"server":"notes"}`),
		}), scripted.Text("there"))
	})
	alice := w.As(t, identitytest.Alice)
	add(t, alice, "notes", server.URL+"/mcp")
	said, err := json.Marshal(alice.Say(alice.Session(), "use my notes"))
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`/mcp-servers/authorize/[A-Z0-9]+`).FindString(string(said))
	back := strings.TrimPrefix(mcptest.Agree(t, w.URL+link), "https://oracle.example")
	code := mcptest.Code(t, w.URL+back)
	if r := alice.Do("POST", "/mcp-servers/notes/confirm", mcp.Confirmation{Code: code}); r.Status != http.StatusOK {
		t.Errorf("%d %s", r.Status, r.Body)
	}
}

// A document names the issuer that it is for: whoever agrees at another sees where the answer goes.
func TestADocumentNamesItsIssuer(t *testing.T) {
	t.Parallel()
	w := open(t, private)
	at := slices.IndexFunc(w.plugin.Routes(), func(r pluginhttp.Route) bool { return r.Pattern == "/mcp-servers/client/{issuer}" })
	read := func(issuer string) (status int, name string, redirects []string) {
		r := pluginhttp.WithBaseURL(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody), "https://oracle.example")
		r.SetPathValue("issuer", issuer)
		answer := httptest.NewRecorder()
		if err := w.plugin.Routes()[at].Handler(answer, r, nil); err != nil {
			refusal, _ := errors.AsType[*plugin.Error](err)
			return refusal.Status, "", nil
		}
		var said struct {
			Name      string   `json:"client_name"`
			Redirects []string `json:"redirect_uris"`
		}
		if err := json.Unmarshal(answer.Body.Bytes(), &said); err != nil {
			t.Fatal(err)
		}
		return answer.Code, said.Name, said.Redirects
	}
	text := func(issuer string) string { return base64.RawURLEncoding.EncodeToString([]byte(issuer)) }
	status, name, redirects := read(text("https://evil.example/tenant"))
	if status != http.StatusOK || !strings.HasSuffix(name, " (for evil.example)") || len(redirects) != 1 ||
		!strings.HasPrefix(redirects[0], "https://oracle.example/mcp-servers/answer/") {
		t.Errorf("%d %q %v", status, name, redirects)
	}
	// What stands below the address of clients that were registered by hand is the same to some.
	if strings.HasPrefix(redirects[0], "https://oracle.example/mcp-servers/callback") {
		t.Errorf("the answer goes below another's address: %v", redirects)
	}
	for _, bad := range []string{
		"AAAAAAAAAAAAAAAAAAAAAA", text("https://a@evil.example"), text("https://evil.example?x"), text("https://ev il.example"), text("javascript:x"),
		text("https://good.example\u202e.evil.example"), text("https://evil.example") + "=", text("https://" + strings.Repeat("a", 250)), text("https://"),
	} {
		if status, name, _ := read(bad); status != http.StatusNotFound {
			t.Errorf("%s: %d %q", bad, status, name)
		}
	}
}

// A node that was slow, and whose claim went to another meanwhile, writes nothing.
func TestALateNodeDoesNotWrite(t *testing.T) {
	t.Parallel()
	w, a := opened(t)
	w.age(t, 2)
	ctx, cancel := context.WithCancel(t.Context())
	a.Locked(func() {
		a.Answer = func(http.ResponseWriter, *http.Request) bool {
			w.change(t, func(g map[string]any) { g["claim"] = "another" })
			cancel()
			return false
		}
	})
	before := w.kept(t)["g"].Value
	if _, err := accessOf(t, w.plugin).Token(ctx); err == nil {
		t.Error("it has a token")
	}
	var was, is map[string]any
	if json.Unmarshal(before, &was) != nil || json.Unmarshal(w.kept(t)["g"].Value, &is) != nil || is["claim"] != "another" ||
		is["sealed"] != was["sealed"] || a.Renewed != 1 {
		t.Errorf("renewed %d times, kept %v", a.Renewed, is)
	}
}

// An issuer that gives the same token again is not asked without end.
func TestTheSameTokenAgain(t *testing.T) {
	t.Parallel()
	w, a := opened(t)
	access := accessOf(t, w.plugin)
	token, err := access.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	a.Locked(func() {
		a.Answer = func(w http.ResponseWriter, _ *http.Request) bool {
			asked++
			mcptest.WriteJSON(w, 200, map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": 1, "refresh_token": "r"})
			return true
		}
	})
	again, err := access.Refused(t.Context(), token, nil)
	if err != nil || again || asked != 1 {
		t.Errorf("%t %v, asked %d times", again, err, asked)
	}
}
