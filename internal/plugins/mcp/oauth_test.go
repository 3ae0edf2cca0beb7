package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/plugins/mcp"
	"github.com/castalia-org/castalia/internal/plugins/mcp/mcptest"
	"github.com/castalia-org/castalia/internal/service/oracle/mcpclient"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/test/testenv"
)

// world is a node whose users have protected servers.
type world struct {
	*oracletest.Node
	plugin *mcp.Plugin
	engine *mcpclient.Engine
	log    *journal
	// server is notes, and alice its user, where they are there from the beginning.
	server *mcptest.Protected
	alice  *oracletest.Client
}

// journal is a log that can be read.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func open(t *testing.T, cfg mcp.Config, change ...func(*oraclekit.Deps)) *world {
	t.Helper()
	w := &world{plugin: mcp.New(cfg, pages), log: &journal{}}
	w.Node = oracletest.Start(t, nil, append([]func(*oraclekit.Deps){func(d *oraclekit.Deps) {
		d.Plugins = []plugin.Plugin{w.plugin}
		d.Log = slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		w.engine = mcpclient.New(nil, d.Log, mcpclient.Config{})
		d.MCP = w.engine
	}}, change...)...)
	return w
}

var private = mcp.Config{UserServers: 3, UserPrivate: true, Private: true, Timeout: 20 * time.Second}

func add(t *testing.T, c *oracletest.Client, name, address string) mcp.Server {
	t.Helper()
	r := c.Do("POST", "/mcp-servers", mcp.Addition{Name: name, URL: address})
	var s mcp.Server
	r.JSON(t, &s)
	if r.Status != http.StatusCreated {
		t.Fatalf("add: %d %s", r.Status, r.Body)
	}
	return s
}

// authorized adds a server and authorizes there.
func authorized(t *testing.T, c *oracletest.Client, name, address string) {
	t.Helper()
	s := add(t, c, name, address)
	if s.State != mcp.WantsUser || s.Authorization == nil {
		t.Fatalf("added: %+v", s)
	}
	code := mcptest.Code(t, mcptest.Agree(t, s.Authorization.URL))
	r := c.Do("POST", "/mcp-servers/"+name+"/confirm", mcp.Confirmation{Code: code})
	r.JSON(t, &s)
	if r.Status != http.StatusOK || s.State != mcp.Ready || len(s.Tools) != 1 || s.Tools[0].Name != "echo" {
		t.Fatalf("confirm: %d %s", r.Status, r.Body)
	}
}

// opened is a node at which Alice has the server notes and has authorized there, with
// the issuer of its tokens.
func opened(t *testing.T) (*world, *mcptest.Issuer) {
	t.Helper()
	a := mcptest.NewIssuer(t)
	server := mcptest.NewProtected(t, a)
	w := open(t, private)
	alice := w.As(t, identitytest.Alice)
	authorized(t, alice, "notes", server.URL+"/mcp")
	w.server, w.alice = server, alice
	return w, a
}

func stateOf(t *testing.T, c *oracletest.Client, name string) mcp.Server {
	t.Helper()
	var list mcp.ServerList
	r := c.Do("GET", "/mcp-servers", nil)
	if r.Status != http.StatusOK {
		t.Fatalf("list: %d %s", r.Status, r.Body)
	}
	r.JSON(t, &list)
	all := slices.Concat(list.Servers, list.Shared)
	i := slices.IndexFunc(all, func(s mcp.Server) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no %s in %s", name, r.Body)
	}
	return all[i]
}

// kept is what the store has, by the first letter of its keys.
func (w *world) kept(t *testing.T) map[string]plugin.Entry {
	t.Helper()
	all, err := w.Store.PluginStore("mcp").Scan(t.Context(), plugin.Range{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]plugin.Entry{}
	for _, e := range all {
		out[e.Key[:1]] = e
	}
	return out
}

func TestAuthorizeUseAndRemove(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, fresh func(t *testing.T) *sqldb.DB) {
		a := mcptest.NewIssuer(t)
		server := mcptest.NewProtected(t, a)
		w := open(t, private, func(d *oraclekit.Deps) {
			d.DB = oracletest.Migrated(t, fresh(t))
			d.Provider = scripted.Sequence(
				scripted.Calls(plugin.ModelToolCall{ID: "1", Name: "load_capability", Args: json.RawMessage(`{"name":"mcp-notes"}`)}),
				scripted.Calls(plugin.ModelToolCall{ID: "2", Name: "notes__echo", Args: json.RawMessage(`{"text":"hello"}`)}),
				scripted.Text("done"))
		})
		alice, bob := w.As(t, identitytest.Alice), w.As(t, identitytest.Bob)
		s := add(t, alice, "notes", server.URL+"/mcp")
		if s.State != mcp.WantsUser || s.Authorization == nil || s.Authorization.Issuer != a.Web.URL || len(s.Tools) != 0 {
			t.Fatalf("added: %+v", s)
		}
		state := s.Authorization.URL[strings.LastIndexByte(s.Authorization.URL, '/')+1:]
		back := mcptest.Agree(t, s.Authorization.URL)
		code := mcptest.Code(t, back)
		if got := stateOf(t, alice, "notes"); got.State != mcp.WantsUser {
			t.Errorf("before it is confirmed: %+v", got)
		}
		if status, _, body := mcptest.Visit(t, back); status != http.StatusGone || strings.Contains(body, "<code>") {
			t.Errorf("the callback again: %d %s", status, body)
		}
		if status, _, _ := mcptest.Visit(t, s.Authorization.URL); status != http.StatusGone {
			t.Errorf("the link again: %d", status)
		}
		if r := bob.Do("POST", "/mcp-servers/notes/confirm", mcp.Confirmation{Code: code}); r.Status != http.StatusNotFound {
			t.Errorf("somebody else confirms: %d %s", r.Status, r.Body)
		}
		if r := alice.Do("POST", "/mcp-servers/notes/confirm", mcp.Confirmation{Code: strings.ToLower(code)}); r.Status != http.StatusOK {
			t.Fatalf("confirm: %d %s", r.Status, r.Body)
		}
		if got := stateOf(t, alice, "notes"); got.State != mcp.Ready || got.Issuer != a.Web.URL || len(got.Tools) != 1 ||
			!got.Tools[0].ReadOnly {
			t.Errorf("confirmed: %+v", got)
		}
		frames := alice.Say(alice.Session(), "use it")
		all, err := json.Marshal(frames)
		if err != nil || !strings.Contains(string(all), "you said hello") {
			t.Errorf("the turn: %v %s", err, all)
		}
		w.holdsNoSecret(t, append(a.Secrets(), state, code)...)
		var gone mcp.Removed
		alice.Do("DELETE", "/mcp-servers/notes", nil).JSON(t, &gone)
		if kept := w.kept(t); !gone.OK || !gone.Revoked || a.Revoked == 0 || len(kept["g"].Value)+len(kept["s"].Value) != 0 {
			t.Errorf("removed: %+v, %d revoked, kept %v", gone, a.Revoked, kept)
		}
		// Another server of this deployment at the same issuer needs no other registration.
		authorized(t, bob, "mine", server.URL+"/mcp")
		if a.Registered != 1 {
			t.Errorf("%d registrations", a.Registered)
		}
	})
}

// holdsNoSecret looks for secrets in the log and in the store.
func (w *world) holdsNoSecret(t *testing.T, secrets ...string) {
	t.Helper()
	all, err := w.Store.PluginStore("mcp").Scan(t.Context(), plugin.Range{})
	if err != nil {
		t.Fatal(err)
	}
	places := w.log.String()
	for _, e := range all {
		places += e.Key + " " + string(e.Value) + "\n"
	}
	for _, s := range secrets {
		if strings.Contains(places, s) {
			t.Errorf("%s can be read in %s", s, places)
		}
	}
}

// A server of the operator's is authorized by each user for themselves.
func TestOperatorsServer(t *testing.T) {
	t.Parallel()
	a := mcptest.NewIssuer(t)
	server := mcptest.NewProtected(t, a)
	cfg := private
	cfg.Servers = []string{"wiki=" + server.URL + "/mcp"}
	w := open(t, cfg)
	alice, bob := w.As(t, identitytest.Alice), w.As(t, identitytest.Bob)
	if got := stateOf(t, alice, "wiki"); got.State != mcp.WantsUser {
		t.Fatalf("%+v", got)
	}
	var link mcp.Authorization
	alice.Do("POST", "/mcp-servers/wiki/authorize", nil).JSON(t, &link)
	code := mcptest.Code(t, mcptest.Agree(t, link.URL))
	if r := alice.Do("POST", "/mcp-servers/wiki/confirm", mcp.Confirmation{Code: code}); r.Status != http.StatusOK {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	if got := stateOf(t, alice, "wiki"); got.State != mcp.Ready {
		t.Errorf("%+v", got)
	}
	if got := stateOf(t, bob, "wiki"); got.State != mcp.WantsUser || len(got.Tools) != 0 {
		t.Errorf("somebody else has %+v", got)
	}
	var gone mcp.Removed
	alice.Do("DELETE", "/mcp-servers/wiki/authorization", nil).JSON(t, &gone)
	if got := stateOf(t, alice, "wiki"); !gone.Revoked || got.State != mcp.WantsUser {
		t.Errorf("signed out: %+v %+v", gone, got)
	}
}

func runtimeOf(who identitytest.Actor) *plugin.Runtime {
	return &plugin.Runtime{User: plugin.User{DID: who.DID}}
}

// accessOf is Alice's access to the server notes, as a turn on that node has it.
func accessOf(t *testing.T, p *mcp.Plugin) plugin.MCPAccess {
	t.Helper()
	list, err := p.MCPServers(t.Context(), runtimeOf(identitytest.Alice))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(s plugin.MCPServer) bool { return s.Name == "notes" })
	if i < 0 {
		t.Fatal("no server notes")
	}
	return list[i].Access
}

// age makes a grant one that should be renewed, and that ends then, in milliseconds.
func (w *world) age(t *testing.T, ends int64) {
	t.Helper()
	w.change(t, func(g map[string]any) { g["renewAt"], g["ends"] = 1, ends })
}

// change changes the grant that is kept.
func (w *world) change(t *testing.T, how func(g map[string]any)) {
	t.Helper()
	e := w.kept(t)["g"]
	var g map[string]any
	if err := json.Unmarshal(e.Value, &g); err != nil {
		t.Fatal(err)
	}
	how(g)
	value, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Store.PluginStore("mcp").Update(t.Context(), func(ctx context.Context, tx plugin.Tx) error {
		return tx.Put(ctx, e.Key, value, 0)
	}); err != nil {
		t.Fatal(err)
	}
}

// Many turns on two nodes find that a token is over: it is renewed once, and
// nobody uses a refresh token twice.
func TestRenewedOnceOnTwoNodes(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, db, same *sqldb.DB) {
		t.Helper()
		a := mcptest.NewIssuer(t)
		server := mcptest.NewProtected(t, a)
		one := open(t, private, func(d *oraclekit.Deps) { d.DB = oracletest.Migrated(t, db) })
		two := open(t, private, func(d *oraclekit.Deps) { d.DB = same })
		authorized(t, one.As(t, identitytest.Alice), "notes", server.URL+"/mcp")
		before, err := accessOf(t, one.plugin).Token(t.Context())
		if err != nil || before == "" {
			t.Fatal(before, err)
		}
		for round := 1; round <= 3; round++ {
			one.age(t, 2)
			tokens := make([]string, 12)
			var all sync.WaitGroup
			for i := range tokens {
				on := []*world{one, two}[i%2]
				all.Go(func() {
					var err error
					if tokens[i], err = accessOf(t, on.plugin).Token(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			for _, got := range tokens {
				if got != tokens[0] || got == "" || got == before {
					t.Errorf("round %d: %q and %q", round, got, tokens[0])
				}
			}
			before = tokens[0]
			a.Locked(func() {
				if a.Renewed != round || a.Reused != 0 {
					t.Errorf("round %d: renewed %d times, reused %d times", round, a.Renewed, a.Reused)
				}
			})
		}
		if got := stateOf(t, two.As(t, identitytest.Alice), "notes"); got.State != mcp.Ready {
			t.Errorf("%+v", got)
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		db := sqldbtest.SQLite(t)
		test(t, db, db)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		testenv.Need(t, "postgres")
		at := testenv.Postgres(t)
		test(t, sqldbtest.Open(t, at, sqldb.Options{}), sqldbtest.Open(t, at, sqldb.Options{}))
	})
}

// A server that does not take a token any more gets a new one; when there is none,
// the user is asked again, also in a conversation.
func TestRefusedTokens(t *testing.T) {
	t.Parallel()
	w, a := opened(t)
	call := func() (string, error) {
		list, err := w.plugin.MCPServers(t.Context(), runtimeOf(identitytest.Alice))
		if err != nil {
			t.Fatal(err)
		}
		r, err := w.engine.Call(t.Context(), list[0], "echo", json.RawMessage(`{"text":"x"}`))
		return r.Text, err
	}
	a.Spoil(false)
	if got, err := call(); err != nil || got != "you said x" || a.Renewed != 1 {
		t.Errorf("%q %v, renewed %d times", got, err, a.Renewed)
	}
	a.Spoil(true)
	if _, err := call(); err == nil || !strings.Contains(err.Error(), "wants the user's authorization") {
		t.Errorf("%v", err)
	}
	if got := stateOf(t, w.alice, "notes"); got.State != mcp.WantsUser || got.Issuer != "" {
		t.Errorf("%+v", got)
	}
	if kept := w.kept(t); kept["g"].Value != nil {
		t.Error("a worthless grant was kept")
	}
}

// The agent gets a link in a conversation, and puts in the code when its user agrees.
func TestInAConversation(t *testing.T) {
	t.Parallel()
	a := mcptest.NewIssuer(t)
	server := mcptest.NewProtected(t, a)
	say := make(chan scripted.Reply, 4)
	w := open(t, private, func(d *oraclekit.Deps) {
		d.BaseURL = "https://oracle.example/"
		d.Provider = scripted.New(func(req plugin.ModelRequest) scripted.Reply {
			if len(say) > 0 {
				return <-say
			}
			return scripted.Text("done")
		})
	})
	alice := w.As(t, identitytest.Alice)
	add(t, alice, "notes", server.URL+"/mcp")
	session := alice.Session()
	say <- scripted.Calls(plugin.ModelToolCall{ID: "1", Name: "mcp_authorize", Args: json.RawMessage(`{"server":"notes"}`)})
	all, err := json.Marshal(alice.Say(session, "use my notes"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`https://oracle\.example(/mcp-servers/authorize/[A-Z0-9]+)`).FindStringSubmatch(string(all))
	if found == nil || !strings.Contains(string(all), "mcp_authorization") {
		t.Fatalf("no link in %s", all)
	}
	status, there, _ := mcptest.Visit(t, w.URL+found[1])
	if status != http.StatusSeeOther {
		t.Fatalf("the link: %d", status)
	}
	_, back, _ := mcptest.Visit(t, there)
	u, err := url.Parse(back)
	if err != nil || u.Host != "oracle.example" {
		t.Fatalf("leads back to %s", back)
	}
	code := mcptest.Code(t, w.URL+u.Path+"?"+u.RawQuery)
	say <- scripted.Calls(plugin.ModelToolCall{ID: "2", Name: "mcp_confirm", Args: json.RawMessage(`{"server":"notes","code":"` + code + `"}`)})
	// Whoever holds a delegation or an app key of hers could say so too, and would have
	// her send what she says to an account of theirs: she is asked herself.
	waits := alice.Ask(session, "the code is "+code)
	if got := stateOf(t, alice, "notes"); got.State != mcp.WantsUser {
		t.Errorf("before she approves: %+v", got)
	}
	if r := alice.Do("POST", "/approvals/"+waits.Approvals[0].ID, `{"decision":"approve"}`); r.Status != http.StatusOK {
		t.Fatalf("approve: %d %s", r.Status, r.Body)
	}
	waits.Rest()
	if got := stateOf(t, alice, "notes"); got.State != mcp.Ready {
		t.Errorf("%+v", got)
	}
}
