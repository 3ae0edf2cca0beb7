package app

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoremcp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/internal/service/oracle/attachments"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
)

// What plugins may do with a user's files is what the user delegated.
func TestFilesUnderTheUsersDelegation(t *testing.T) {
	t.Parallel()
	id := identitytest.New(t)
	world := filestoretest.Embedded(t)
	surface := filestoremcp.Surface(world.Service,
		filestoremcp.Deps{Folders: world.Folders, Authenticate: identityhttp.Wrap(id, identity.MCP)})
	access, err := oraclekit.NewAccess(id, oraclekit.Surfaces{FilesMCP: &surface})
	if err != nil {
		t.Fatal(err)
	}
	alice := identitytest.Alice
	if _, err := access.Files(alice.DID, identity.Brought{}).Tools(t.Context()); !errors.Is(err, plugin.ErrNoDelegation) {
		t.Errorf("without a delegation: %v", err)
	}
	names := func(files plugin.Files) []string {
		t.Helper()
		list, err := files.Tools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, tool := range list {
			out = append(out, tool.Name)
		}
		return out
	}
	all := access.Files(alice.DID, identity.Brought{Delegation: identitytest.Delegation(t, alice, id.DID())})
	if got := names(all); !slices.Contains(got, "vfs_write") || !slices.Contains(got, "vfs_read") {
		t.Fatalf("tools: %v", got)
	}
	if _, err := all.Call(t.Context(), "vfs_write", json.RawMessage(`{"path":"/notes/a.md","content":"bees dance"}`)); err != nil {
		t.Fatalf("write: %v", err)
	}
	read := access.Files(alice.DID, identity.Brought{
		Delegation: identitytest.Delegation(t, alice, id.DID(), identitytest.Can("fs/read", alice.Home("/notes"))),
	})
	if got := names(read); slices.Contains(got, "vfs_write") {
		t.Errorf("a read-only grant shows %v", got)
	}
	result, err := read.Call(t.Context(), "vfs_read", json.RawMessage(`{"path":"/notes/a.md"}`))
	if err != nil || !strings.Contains(result.Text, "bees dance") {
		t.Errorf("read: %q %v", result.Text, err)
	}
	if _, err := read.Call(t.Context(), "vfs_write", json.RawMessage(`{"path":"/notes/a.md","content":"x"}`)); err == nil {
		t.Error("a read-only grant wrote")
	}
	bob := access.Files(identitytest.Bob.DID,
		identity.Brought{Delegation: identitytest.Delegation(t, alice, id.DID()), InPerson: true})
	if _, err := bob.Call(t.Context(), "vfs_read", json.RawMessage(`{"path":"/notes/a.md"}`)); err == nil {
		t.Error("Bob read with a delegation of Alice")
	}
}

// A page brings a delegation with each request, and has deposited another one for the file
// that it attaches. In person both are tried; who holds one of them gets what that one says.
func TestWhatIsBroughtDoesNotShadowWhatIsStored(t *testing.T) {
	t.Parallel()
	id, alice := identitytest.New(t), identitytest.Alice
	world := filestoretest.Embedded(t)
	chosen := world.MustPut(t, alice.DID, "/notes/chosen.txt", "bees dance")
	other := world.MustPut(t, alice.DID, "/notes/other.txt", "wasps sting")
	surface := filestorehttp.Surface(world.Service,
		filestorehttp.Deps{Folders: world.Folders, Authenticate: identityhttp.Wrap(id, identity.Files)})
	tools := filestoremcp.Surface(world.Service,
		filestoremcp.Deps{Folders: world.Folders, Authenticate: identityhttp.Wrap(id, identity.MCP)})
	access, err := oraclekit.NewAccess(id, oraclekit.Surfaces{Files: &surface, FilesMCP: &tools})
	if err != nil {
		t.Fatal(err)
	}
	provider := scripted.Sequence(scripted.Text("Well."))
	n := oracletest.Start(t, provider, func(d *oraclekit.Deps) {
		d.Identity, d.Access = id, access
		d.Attachments = attachments.New(attachments.Config{Store: access.ReadFile})
	})
	store := func(raw string) {
		t.Helper()
		_, err := id.StoreDelegation(t.Context(), identitytest.Principal(t, id, alice), identity.Deposit{Raw: raw})
		if err != nil {
			t.Fatal(err)
		}
	}
	store(identitytest.Delegation(t, alice, id.DID(), identitytest.CIDs("fs/read", alice.Home(""), chosen.CID)))
	oracleAlone := identitytest.UserToOracle(t, alice, id.DID())
	// As wallets make it: `*` on a folder of the oracle's own is wider than fs/read, and elsewhere.
	narrow := identitytest.Delegation(t, alice, id.DID(), identitytest.Can("*", identity.OracleResource),
		identitytest.Can("*", "ixo:filesystem/.oracles"))
	const no = "you have not let the oracle read your files"
	for name, c := range map[string]struct {
		delegation string
		inPerson   bool
		file       filestore.File
		want       string
	}{
		"in person, with nothing":            {"", true, chosen, "bees dance"},
		"in person, for the oracle":          {oracleAlone, true, chosen, "bees dance"},
		"in person, for another folder":      {narrow, true, chosen, "bees dance"},
		"in person, a file that is not lent": {narrow, true, other, "could not be read"},
		"a delegation alone, for the oracle": {oracleAlone, false, chosen, no},
		"a delegation alone, another folder": {narrow, false, chosen, "could not be read"},
	} {
		t.Run(name, func(t *testing.T) {
			client := n.As(t, alice)
			session := client.Session()
			if c.inPerson && c.delegation != "" {
				client.Header.Set("X-Ucan-Delegation", c.delegation)
			} else if !c.inPerson {
				client.Delegation(c.delegation)
			}
			r := client.Do("POST", "/messages/"+session, map[string]any{
				"message": "What stands there?", "attachments": []map[string]any{{"filename": "f.txt", "mimetype": "text/plain", "cid": c.file.CID}},
			})
			if r.Status != http.StatusOK {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
			all := provider.Requests()
			i := slices.IndexFunc(all, func(q plugin.ModelRequest) bool { return q.Session == session && q.Purpose == "turn" })
			shown := all[i].Messages[len(all[i].Messages)-1].Text
			if !strings.Contains(shown, c.want) || strings.Contains(shown, "bees") != (c.want == "bees dance") ||
				strings.Contains(shown, "wasps") {
				t.Errorf("the model was shown %q", shown)
			}
		})
	}

	// The tools of the file store do the same.
	store(identitytest.Delegation(t, alice, id.DID(), identitytest.Can("fs/read", alice.Home("/notes"))))
	for _, inPerson := range []bool{true, false} {
		files := access.Files(alice.DID, identity.Brought{Delegation: narrow, InPerson: inPerson})
		got, err := files.Call(t.Context(), "vfs_read", json.RawMessage(`{"path":"/notes/chosen.txt"}`))
		if (err == nil && strings.Contains(got.Text, "bees")) != inPerson {
			t.Errorf("in person %v: %q, %v", inPerson, got.Text, err)
		}
		write := json.RawMessage(`{"path":"/notes/chosen.txt","content":"x"}`)
		if _, err := files.Call(t.Context(), "vfs_write", write); err == nil {
			t.Errorf("in person %v: what is lent for reading was written", inPerson)
		}
	}
}

// What one capability reaches is decided there: a change that fails in Alice's files is not
// made in Bob's, who lent her his.
func TestWhatFailsInOneNamespaceIsNotDoneInAnother(t *testing.T) {
	t.Parallel()
	id, alice, bob := identitytest.New(t), identitytest.Alice, identitytest.Bob
	world := filestoretest.Embedded(t)
	world.MustPut(t, alice.DID, "/notes/a.md", "bees dance")
	world.MustPut(t, bob.DID, "/notes/a.md", "wasps")
	world.MustPut(t, bob.DID, "/notes/a.md", "wasps sting") // version 2
	world.MustPut(t, bob.DID, "/notes/b.md", "of Bob")
	content := filestorehttp.Surface(world.Service,
		filestorehttp.Deps{Folders: world.Folders, Authenticate: identityhttp.Wrap(id, identity.Files)})
	tools := filestoremcp.Surface(world.Service,
		filestoremcp.Deps{Folders: world.Folders, Authenticate: identityhttp.Wrap(id, identity.MCP)})
	access, err := oraclekit.NewAccess(id, oraclekit.Surfaces{Files: &content, FilesMCP: &tools})
	if err != nil {
		t.Fatal(err)
	}
	lent := identitytest.Delegation(t, bob, alice.DID, identitytest.Can("fs/*", bob.Home("")))
	brought := identity.Brought{InPerson: true, Delegation: identitytest.Delegation(t, alice, id.DID(),
		identitytest.Can("fs/*", identitytest.Carol.Home("")), // which nobody lent her: it opens nothing, and hides nothing
		identitytest.Can("fs/*", alice.Home("/notes")), identitytest.Can("fs/*", bob.Home("")), identitytest.Proof(lent))}
	files := access.Files(alice.DID, brought)
	feed := func(whose identitytest.Actor) int {
		t.Helper()
		events, _, err := world.Changes(t.Context(), filestore.Owner(whose.DID), 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		return len(events)
	}
	was := feed(bob)
	for name, c := range map[string]struct{ tool, args, want string }{
		"a stale version":      {"vfs_write", `{"path":"/notes/a.md","content":"x","ifVersion":2}`, "version 1"},
		"a file that is there": {"vfs_write", `{"path":"/notes/a.md","content":"x"}`, "already exists"},
		"another text":         {"vfs_edit", `{"path":"/notes/a.md","oldString":"wasps","newString":"x"}`, ""},
		"no such file":         {"vfs_delete", `{"paths":["/notes/b.md"],"ifVersion":1}`, "does not exist"},
		"nothing to move":      {"vfs_move", `{"from":"/notes/b.md","to":"/notes/c.md"}`, "does not exist"},
		"a way out":            {"vfs_move", `{"from":"/notes/a.md","to":"/elsewhere/a.md"}`, "does not reach"},
		"a way in":             {"vfs_move", `{"from":"/elsewhere/a.md","to":"/notes/z.md"}`, ""},
		"nothing to share":     {"vfs_share", `{"path":"/notes/b.md","public":true}`, "does not exist"},
		"nothing to read":      {"vfs_read", `{"path":"/notes/b.md"}`, "does not exist"},
	} {
		out, err := files.Call(t.Context(), c.tool, json.RawMessage(c.args))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v", name, out.Text, err)
		}
	}
	if now := feed(bob); now != was {
		t.Errorf("%d changes of Bob's files", now-was)
	}
	// Where no capability of Alice's reaches, the one that does is used.
	if _, err := files.Call(t.Context(), "vfs_write", json.RawMessage(`{"path":"/shared/a.md","content":"x"}`)); err != nil {
		t.Errorf("in what Bob lent: %v", err)
	}
	if now := feed(bob); now != was+1 {
		t.Errorf("%d changes of Bob's files", now-was)
	}
	of := world.MustPut(t, bob.DID, "/notes/d.md", "by content")
	if got, err := access.ReadFile(t.Context(), alice.DID, brought, of.CID, 100); err != nil || string(got) != "by content" {
		t.Errorf("an attachment of Bob's: %q, %v", got, err)
	}
}

func TestQueryInProcess(t *testing.T) {
	t.Parallel()
	surface := httpserver.Surface{Name: "query", Routes: []httpserver.Route{{
		Method: "GET", Pattern: "/ixo/entity/{id}", Auth: httpserver.Public, Handler: entity,
	}}}
	access, err := oraclekit.NewAccess(identitytest.New(t), oraclekit.Surfaces{Query: &surface})
	if err != nil {
		t.Fatal(err)
	}
	q := access.Query(identitytest.Alice.DID)
	got, err := q.Get(t.Context(), "/ixo/entity/did:ixo:1", url.Values{"a": {"b"}})
	if err != nil || string(got) != `{"id":"did:ixo:1","a":"b"}` {
		t.Errorf("%s %v", got, err)
	}
	_, err = q.Get(t.Context(), "/api/ussd/sessions", nil)
	if e, ok := errors.AsType[*plugin.Error](err); !ok || e.Status != 404 {
		t.Errorf("another service was reached: %v", err)
	}
	if doc, err := q.OpenAPI(t.Context()); err != nil || !strings.Contains(string(doc), "/ixo/entity/{id}") {
		t.Errorf("document: %v", err)
	}
}

func entity(w http.ResponseWriter, r *http.Request) error {
	_, err := io.WriteString(w, `{"id":"`+r.PathValue("id")+`","a":"`+r.URL.Query().Get("a")+`"}`)
	return err
}

// A route that was renamed must not look like a node without files.
func TestARouteThatTheOracleNeedsIsMissed(t *testing.T) {
	t.Parallel()
	id := identitytest.New(t)
	empty := httpserver.Surface{Name: "renamed"}
	for name, offered := range map[string]oraclekit.Surfaces{"tools": {FilesMCP: &empty}, "content": {Files: &empty}} {
		if _, err := oraclekit.NewAccess(id, offered); err == nil || !strings.Contains(err.Error(), "surface renamed has no route /") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := oraclekit.Recordings(empty, oraclekit.Access{}); err == nil {
		t.Error("recordings without uploads")
	}
}
