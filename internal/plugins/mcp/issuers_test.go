package mcp_test

import (
	"encoding/json"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/plugins/mcp/mcptest"
)

// The scopes of a resource need not be among those that clients register for.
func TestAnIssuerThatRegistersForNoScopeOfResources(t *testing.T) {
	t.Parallel()
	a := mcptest.NewIssuer(t)
	a.Scopes = []string{"openid"}
	server := mcptest.NewProtected(t, a)
	server.Meta.ScopesSupported = []string{"notes:read"}
	authorized(t, open(t, private).As(t, identitytest.Alice), "notes", server.URL+"/mcp")
	if a.Registered != 1 {
		t.Errorf("%d registrations", a.Registered)
	}
}

// What one server wants does not bind the registration for another.
func TestServersOfOneIssuerWithOtherScopes(t *testing.T) {
	t.Parallel()
	a := mcptest.NewIssuer(t)
	server := mcptest.NewProtected(t, a)
	alice := open(t, private).As(t, identitytest.Alice)
	for _, scope := range []string{"notes:read", "maps:read"} {
		server.Meta.ScopesSupported = []string{scope}
		authorized(t, alice, "notes", server.URL+"/mcp")
		alice.Do("DELETE", "/mcp-servers/notes", nil)
	}
	got := map[string]bool{}
	for _, c := range a.Clients {
		got[c.Scope] = true
	}
	if len(got) != 2 || !got["notes:read"] || !got["maps:read"] {
		t.Errorf("registered for %v", got)
	}
}

// The order in which a server names its scopes, and how often, is no other registration.
func TestOneSetOfScopesRegistersOnce(t *testing.T) {
	t.Parallel()
	a := mcptest.NewIssuer(t)
	server := mcptest.NewProtected(t, a)
	alice := open(t, private).As(t, identitytest.Alice)
	for _, scopes := range [][]string{{"notes:read", "maps:read"}, {"maps:read", "notes:read"}, {"notes:read", "maps:read", "notes:read"}, {"maps:read  notes:read"}} {
		server.Meta.ScopesSupported = scopes
		authorized(t, alice, "notes", server.URL+"/mcp")
		alice.Do("DELETE", "/mcp-servers/notes", nil)
	}
	if a.Registered != 1 {
		t.Errorf("%d registrations, want one", a.Registered)
	}
	for _, c := range a.Clients {
		if c.Scope != "maps:read notes:read" {
			t.Errorf("registered for %q", c.Scope)
		}
	}
}

// Offline access is given only to who lets the user be asked (OpenID Connect Core, 11).
func TestAnIssuerOfOfflineAccess(t *testing.T) {
	t.Parallel()
	a := mcptest.NewIssuer(t)
	a.Meta["scopes_supported"] = []string{"openid", "offline_access"}
	server := mcptest.NewProtected(t, a)
	authorized(t, open(t, private).As(t, identitytest.Alice), "notes", server.URL+"/mcp")
}

// An issuer that lost its clients is asked as a new one: one for all users.
func TestAnIssuerThatForgotUs(t *testing.T) {
	t.Parallel()
	w, a := opened(t)
	bob := w.As(t, identitytest.Bob)
	authorized(t, bob, "notes", w.server.URL+"/mcp")
	a.Locked(func() { clear(a.Clients) })
	a.Spoil(false)
	for _, who := range []identitytest.Actor{identitytest.Alice, identitytest.Bob} {
		list, err := w.plugin.MCPServers(t.Context(), runtimeOf(who))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.engine.Call(t.Context(), list[0], "echo", json.RawMessage(`{"text":"x"}`)); err == nil {
			t.Errorf("%s has a tool", who.DID)
		}
	}
	authorized(t, w.alice, "notes", w.server.URL+"/mcp")
	authorized(t, bob, "notes", w.server.URL+"/mcp")
	if a.Registered != 2 {
		t.Errorf("%d registrations", a.Registered)
	}
}

// Whoever renews nothing is not asked for it.
func TestAnIssuerThatRenewsNothing(t *testing.T) {
	t.Parallel()
	a := mcptest.NewIssuer(t)
	a.Meta["grant_types_supported"] = []string{"authorization_code"}
	server := mcptest.NewProtected(t, a)
	authorized(t, open(t, private).As(t, identitytest.Alice), "notes", server.URL+"/mcp")
}
