package memory_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/plugins/memory"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
)

// start runs two nodes over one database.
func start(t *testing.T, db *sqldb.DB, provider model.Provider) (a, b *oracletest.Node) {
	t.Helper()
	oracletest.Migrated(t, db)
	with := func(d *oraclekit.Deps) { d.DB, d.Plugins = db, []plugin.Plugin{memory.New(memory.Config{InPrompt: 2})} }
	return oracletest.Start(t, provider, with), oracletest.Start(t, provider, with)
}

func find(t *testing.T, c *oracletest.Client, query string) []string {
	t.Helper()
	r := c.Do("GET", "/memory"+query, nil)
	if r.Status != 200 {
		t.Fatalf("list: %d %s", r.Status, r.Body)
	}
	var out struct{ Memories []memory.Memory }
	r.JSON(t, &out)
	if out.Memories == nil {
		t.Errorf("no list: %s", r.Body)
	}
	texts := make([]string, len(out.Memories))
	for i, m := range out.Memories {
		texts[i] = m.Text
		if m.ID == "" || m.CreatedAt == "" {
			t.Errorf("memory without id or date: %+v", m)
		}
	}
	return texts
}

func add(t *testing.T, c *oracletest.Client, text string) memory.Memory {
	t.Helper()
	r := c.Do("POST", "/memory", map[string]string{"text": text})
	if r.Status != 201 {
		t.Fatalf("add: %d %s", r.Status, r.Body)
	}
	var m memory.Memory
	r.JSON(t, &m)
	return m
}

func TestMemory(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		one, two := start(t, open(t), nil)
		alice, bob := one.As(t, identitytest.Alice), two.As(t, identitytest.Bob)
		if got := find(t, alice, ""); len(got) != 0 {
			t.Fatalf("not empty: %v", got)
		}
		first := add(t, alice, "The user keeps bees.")
		add(t, alice.On(two), "The user lives in Lyon.")
		if again := add(t, alice, " The user keeps bees. "); again != first {
			t.Errorf("the same text became another memory: %+v", again)
		}
		if d := cmp.Diff([]string{"The user lives in Lyon.", "The user keeps bees."}, find(t, alice, "")); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]string{"The user keeps bees."}, find(t, alice.On(two), "?q=bee")); d != "" {
			t.Error(d)
		}
		if got := find(t, bob, ""); len(got) != 0 {
			t.Errorf("a stranger reads %v", got)
		}
		if r := bob.Do("DELETE", "/memory/"+first.ID, nil); r.Status != 404 {
			t.Errorf("a stranger forgets: %d", r.Status)
		}
		bob.Do("DELETE", "/memory", nil)
		if r := alice.Do("DELETE", "/memory/"+first.ID, nil); r.Status != 200 {
			t.Errorf("forget: %d %s", r.Status, r.Body)
		}
		if r := alice.Do("DELETE", "/memory/"+first.ID, nil); r.Status != 404 {
			t.Errorf("forget twice: %d %s", r.Status, r.Body)
		}
		if r := alice.Do("DELETE", "/memory", nil); string(r.Body) != `{"deleted":1}` {
			t.Errorf("forget all: %s", r.Body)
		}
		if got := find(t, alice, ""); len(got) != 0 {
			t.Errorf("left over: %v", got)
		}
	})
}

func TestBadMemories(t *testing.T) {
	t.Parallel()
	n, _ := start(t, sqldbtest.SQLite(t), nil)
	alice := n.As(t, identitytest.Alice)
	for _, body := range []string{
		``, `{}`, `{"text":"  "}`, `{"text":1}`, `{"text":"a\u0000b"}`, `{"text":"a","id":"b"}`,
		`{"text":"` + strings.Repeat("x", memory.MaxText+1) + `"}`,
	} {
		if r := alice.Do("POST", "/memory", body); r.Status != 400 {
			t.Errorf("%.40s: %d %s", body, r.Status, r.Body)
		}
	}
	if r := alice.Do("GET", "/memory?q="+strings.Repeat("x", 501), nil); r.Status != 400 {
		t.Errorf("long query: %d", r.Status)
	}
	for _, id := range []string{"nobody", "%ff", "..%2F", strings.Repeat("x", 600)} {
		if r := alice.Do("DELETE", "/memory/"+id, nil); r.Status != 404 {
			t.Errorf("forget %.20s: %d %s", id, r.Status, r.Body)
		}
	}
}

// The bound holds also when two nodes remember at once.
func TestThereIsABound(t *testing.T) {
	t.Parallel()
	db := oracletest.Migrated(t, sqldbtest.SQLite(t))
	one, two := memory.New(memory.Config{}), memory.New(memory.Config{})
	n := oracletest.Start(t, nil, func(d *oraclekit.Deps) { d.DB = db })
	for _, p := range []*memory.Plugin{one, two} {
		if err := p.Start(t.Context(), plugin.Host{Store: n.Store.PluginStore("memory")}); err != nil {
			t.Fatal(err)
		}
	}
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		full int
	)
	for k, p := range []*memory.Plugin{one, two, one, two} {
		all.Go(func() {
			for i := range memory.MaxMemories/4 + 5 {
				if _, err := p.Remember(t.Context(), "did:key:a", fmt.Sprint("fact ", k, " ", i)); err != nil {
					mu.Lock()
					full++
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	list, err := one.All(t.Context(), "did:key:a")
	if err != nil || len(list) != memory.MaxMemories || full != 20 {
		t.Errorf("%d memories, %d refused, %v", len(list), full, err)
	}
	if _, err := one.Remember(t.Context(), "did:key:b", "another user's"); err != nil {
		t.Errorf("another user: %v", err)
	}
	if gone, err := one.ForgetAll(t.Context(), "did:key:a"); err != nil || gone != memory.MaxMemories {
		t.Errorf("forgot %d, %v", gone, err)
	}
	if _, err := one.Remember(t.Context(), "did:key:a", "fact"); err != nil {
		t.Errorf("after forgetting: %v", err)
	}
}

func TestTheBestComesFirst(t *testing.T) {
	t.Parallel()
	n, _ := start(t, sqldbtest.SQLite(t), nil)
	alice := n.As(t, identitytest.Alice)
	for _, text := range []string{
		"The user is allergic to nuts.", "The user has two children, Mia and Tom, who go to school in Lyon.",
		"The user lives in Lyon.", "L'utilisateur aime le café à Genève.", "用户住在东京",
	} {
		add(t, alice, text)
	}
	for query, want := range map[string][]string{
		"allergies":             {"The user is allergic to nuts."},
		"Where in LYON?":        {"The user lives in Lyon.", "The user has two children, Mia and Tom, who go to school in Lyon."},
		"Mia's school and Lyon": {"The user has two children, Mia and Tom, who go to school in Lyon.", "The user lives in Lyon."},
		"genève":                {"L'utilisateur aime le café à Genève."},
		"东京":                    {"用户住在东京"},
		"submarine":             {},
		"the user":              {},
	} {
		if d := cmp.Diff(want, find(t, alice, "?q="+url.QueryEscape(query))); d != "" {
			t.Errorf("%s: %s", query, d)
		}
	}
}

// What is told in one conversation is known in the next, on another node.
func TestTheAgentRemembers(t *testing.T) {
	t.Parallel()
	call := func(id, name, args string) scripted.Reply {
		return scripted.Calls(plugin.ModelToolCall{ID: id, Name: name, Args: json.RawMessage(args)})
	}
	provider := scripted.Sequence(
		call("1", "remember", `{"text":"The user is allergic to nuts."}`), scripted.Text("Noted."),
		call("2", "recall", `{}`), scripted.Text("Nuts."),
	)
	one, two := start(t, sqldbtest.SQLite(t), provider)
	alice := one.As(t, identitytest.Alice)
	alice.Say(alice.Session(), "remember my allergy")
	alice = alice.On(two)
	alice.Say(alice.Session(), "which allergies do I have?")
	var turns []plugin.ModelRequest
	for _, r := range provider.Requests() {
		if r.Purpose == "turn" {
			turns = append(turns, r)
		}
	}
	if len(turns) != 4 {
		t.Fatalf("%d model calls", len(turns))
	}
	const known = `- "The user is allergic to nuts."`
	if strings.Contains(turns[0].Messages[0].Note, known) || !strings.Contains(turns[2].Messages[0].Note, known) {
		t.Errorf("note: %s", turns[2].Messages[0].Note)
	}
	if last := turns[3].Messages[len(turns[3].Messages)-1]; last.Role != plugin.RoleTool ||
		!strings.Contains(last.Text, "allergic to nuts") {
		t.Errorf("recall said %+v", last)
	}
}
