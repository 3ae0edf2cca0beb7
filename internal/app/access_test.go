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
	"github.com/castalia-org/castalia/internal/service/filestore/filestoremcp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
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
	if _, err := access.Files(alice.DID, "").Tools(t.Context()); !errors.Is(err, plugin.ErrNoDelegation) {
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
	all := access.Files(alice.DID, identitytest.Delegation(t, alice, id.DID()))
	if got := names(all); !slices.Contains(got, "vfs_write") || !slices.Contains(got, "vfs_read") {
		t.Fatalf("tools: %v", got)
	}
	if _, err := all.Call(t.Context(), "vfs_write", json.RawMessage(`{"path":"/notes/a.md","content":"bees dance"}`)); err != nil {
		t.Fatalf("write: %v", err)
	}
	read := access.Files(alice.DID,
		identitytest.Delegation(t, alice, id.DID(), identitytest.Can("fs/read", alice.Home("/notes"))))
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
	bob := access.Files(identitytest.Bob.DID, identitytest.Delegation(t, alice, id.DID()))
	if _, err := bob.Call(t.Context(), "vfs_read", json.RawMessage(`{"path":"/notes/a.md"}`)); err == nil {
		t.Error("Bob read with a delegation of Alice")
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
