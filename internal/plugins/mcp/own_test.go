package mcp_test

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/plugins/mcp"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
)

func serving(t *testing.T, cfg mcp.Config) (*oracletest.Node, *mcp.Plugin) {
	t.Helper()
	p := mcp.New(cfg, pages)
	return oracletest.Start(t, nil, func(d *oraclekit.Deps) { d.Plugins = []plugin.Plugin{p} }), p
}

func TestUsersOwnServers(t *testing.T) {
	t.Parallel()
	n, p := serving(t, mcp.Config{Servers: []string{"wiki=https://wiki.example/mcp"}, UserServers: 2})
	alice, bob := n.As(t, identitytest.Alice), n.As(t, identitytest.Bob)
	const token = "the-token-of-alice"
	r := alice.Do("POST", "/mcp-servers", mcp.Addition{Name: "notes", URL: "https://notes.example/mcp", Token: token, Summary: "my notes"})
	if r.Status != http.StatusCreated || strings.Contains(string(r.Body), token) {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	alice.Do("POST", "/mcp-servers", mcp.Addition{Name: "cal", URL: "https://cal.example/mcp"})
	for _, c := range []struct {
		in     mcp.Addition
		status int
	}{
		{mcp.Addition{Name: "third", URL: "https://third.example"}, http.StatusConflict},
		{mcp.Addition{Name: "wiki", URL: "https://mine.example"}, http.StatusConflict},
		{mcp.Addition{Name: "cal", URL: "https://cal.example/mcp2"}, http.StatusCreated},
		{mcp.Addition{Name: "UP", URL: "https://x.example"}, http.StatusBadRequest},
		{mcp.Addition{Name: "a__b", URL: "https://x.example"}, http.StatusBadRequest},
		{mcp.Addition{Name: "cal", URL: "http://x.example"}, http.StatusBadRequest},
		{mcp.Addition{Name: "cal", URL: "https://u:p@x.example"}, http.StatusBadRequest},
		{mcp.Addition{Name: "cal", URL: "https://127.0.0.1/"}, http.StatusBadRequest},
		{mcp.Addition{Name: "cal", URL: "https://[::1]/"}, http.StatusBadRequest},
		{mcp.Addition{Name: "cal", URL: "https://10.1.2.3/"}, http.StatusBadRequest},
		{mcp.Addition{Name: "cal", URL: "https://169.254.169.254/latest"}, http.StatusBadRequest},
		{mcp.Addition{Name: "cal", URL: "https://LocalHost/"}, http.StatusBadRequest},
		{mcp.Addition{Name: "cal", URL: "file:///etc/passwd"}, http.StatusBadRequest},
		{mcp.Addition{Name: "cal", URL: "https://x.example", Token: "a b"}, http.StatusBadRequest},
		{mcp.Addition{Name: "cal", URL: "https://x.example", Token: "a\r\nX: y"}, http.StatusBadRequest},
		{mcp.Addition{Name: "cal", URL: "https://x.example", Summary: strings.Repeat("x", 301)}, http.StatusBadRequest},
	} {
		if r := alice.Do("POST", "/mcp-servers", c.in); r.Status != c.status {
			t.Errorf("%+v: %d %s", c.in, r.Status, r.Body)
		}
	}
	of := func(who identitytest.Actor) []plugin.MCPServer {
		list, err := p.MCPServers(t.Context(), &plugin.Runtime{User: plugin.User{DID: who.DID}})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	var names []string
	for _, s := range of(identitytest.Alice) {
		names = append(names, s.Name)
		if s.AllowPrivate || s.Visibility != plugin.OnDemand || s.Protected {
			t.Errorf("%+v", s)
		}
		if s.Name == "notes" && s.Headers["Authorization"] != "Bearer "+token {
			t.Errorf("%+v", s.Headers)
		}
	}
	if d := cmp.Diff([]string{"wiki", "cal", "notes"}, names); d != "" {
		t.Error(d)
	}
	if others := of(identitytest.Bob); len(others) != 1 {
		t.Errorf("somebody else has %+v", others)
	}
	// What is stored does not hold the token, and cannot be used for another address.
	store := n.Store.PluginStore("mcp")
	kept, err := store.Scan(t.Context(), plugin.Range{})
	if err != nil || len(kept) != 2 {
		t.Fatal(err, len(kept))
	}
	for _, e := range kept {
		if bytes.Contains(e.Value, []byte(token)) {
			t.Error("the token is readable")
		}
		moved := bytes.ReplaceAll(e.Value, []byte("notes.example"), []byte("mallory.example"))
		if err := store.Update(t.Context(), func(ctx context.Context, tx plugin.Tx) error {
			return tx.Put(ctx, e.Key, moved, 0)
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range of(identitytest.Alice) {
		if s.Name == "notes" {
			t.Errorf("a token for another address was opened: %+v", s)
		}
	}
	if r := bob.Do("DELETE", "/mcp-servers/notes", nil); r.Status != http.StatusNotFound {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	if r := alice.Do("DELETE", "/mcp-servers/notes", nil); r.Status != http.StatusOK {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	var list mcp.ServerList
	alice.Do("GET", "/mcp-servers", nil).JSON(t, &list)
	if len(list.Servers) != 1 || list.Servers[0].URL != "https://cal.example/mcp2" || list.Servers[0].HasToken {
		t.Errorf("%+v", list)
	}
}

func TestOwnServersCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	n, _ := serving(t, mcp.Config{Servers: []string{"wiki=https://wiki.example/mcp"}})
	alice := n.As(t, identitytest.Alice)
	if r := alice.Do("POST", "/mcp-servers", mcp.Addition{Name: "x", URL: "https://x.example"}); r.Status < 404 || r.Status > 405 {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	var list mcp.ServerList
	alice.Do("GET", "/mcp-servers", nil).JSON(t, &list)
	if len(list.Servers) != 0 || len(list.Shared) != 1 || list.Shared[0].Name != "wiki" {
		t.Errorf("%+v", list)
	}
}
