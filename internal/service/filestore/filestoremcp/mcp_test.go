package filestoremcp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/contenthttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoremcp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

var alice = identitytest.Alice

func serve(t *testing.T, w *filestoretest.World) string {
	t.Helper()
	ts := httptest.NewServer(surface(t, w))
	t.Cleanup(ts.Close)
	return ts.URL
}

func surface(t *testing.T, w *filestoretest.World) http.Handler {
	t.Helper()
	return counted(t, w, nil)
}

func counted(t *testing.T, w *filestoretest.World, holdings *ratelimit.Holdings) http.Handler {
	t.Helper()
	server, err := httpserver.New(httpserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	err = server.Mount(filestoremcp.Surface(w.Service, filestoremcp.Deps{
		Folders: w.Folders, Holdings: holdings,
		Authenticate: identityhttp.Wrap(identitytest.New(t), identity.MCP), CORS: contenthttp.CORS("*"), Version: "test",
	}))
	if err != nil {
		t.Fatal(err)
	}
	return server
}

type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

var nonce atomic.Int64

func token(t *testing.T, can string, options ...identitytest.Option) string {
	t.Helper()
	return identitytest.Files(t, alice, identitytest.Oracle.DID, can,
		append(options, identitytest.Nonce(fmt.Sprint(nonce.Add(1))))...)
}

// agent is a connected client.
type agent struct {
	t *testing.T
	*mcp.ClientSession
}

func connect(t *testing.T, base, token string) agent {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: base + "/mcp", HTTPClient: &http.Client{Transport: bearer{token}}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return agent{t, session}
}

func (a agent) tools() []string {
	a.t.Helper()
	var names []string
	for tool, err := range a.Tools(a.t.Context(), nil) {
		if err != nil {
			a.t.Fatal(err)
		}
		if tool.Description == "" || tool.Annotations == nil {
			a.t.Errorf("%s has no description or annotations", tool.Name)
		}
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

// call returns the text of a result and whether it is an error.
func (a agent) call(name string, args map[string]any) (string, bool) {
	a.t.Helper()
	r, err := a.CallTool(a.t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		a.t.Fatalf("%s: %v", name, err)
	}
	if len(r.Content) != 1 {
		a.t.Fatalf("%s: %d contents", name, len(r.Content))
	}
	return r.Content[0].(*mcp.TextContent).Text, r.IsError
}

// must is call for what has to succeed.
func (a agent) must(name string, args map[string]any) string {
	a.t.Helper()
	text, failed := a.call(name, args)
	if failed {
		a.t.Fatalf("%s %v: %s", name, args, text)
	}
	return text
}

// refused is call for what has to fail with a text.
func (a agent) refused(name string, args map[string]any, want string) {
	a.t.Helper()
	text, failed := a.call(name, args)
	if !failed || !strings.Contains(text, want) {
		a.t.Errorf("%s %v: failed %v, %q; want %q", name, args, failed, text, want)
	}
}

type m = map[string]any

func TestToolsByToken(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	base := serve(t, w)
	find := []string{"vfs_glob", "vfs_list", "vfs_stat"}
	read := append([]string{"vfs_diff", "vfs_grep", "vfs_list_cids", "vfs_read", "vfs_read_cid", "vfs_search", "vfs_versions"}, find...)
	write := append([]string{"vfs_append", "vfs_edit", "vfs_move", "vfs_restore", "vfs_share", "vfs_write"}, read...)
	home := alice.Home("")
	for name, c := range map[string]struct {
		token string
		want  []string
	}{
		"owner":  {token(t, "*"), append([]string{"vfs_delete"}, write...)},
		"list":   {token(t, "", identitytest.Can("fs/list", home)), find},
		"read":   {token(t, "", identitytest.Can("fs/read", home)), read},
		"write":  {token(t, "", identitytest.Can("fs/write", home)), write},
		"delete": {token(t, "", identitytest.Can("fs/delete", home)), append([]string{"vfs_delete"}, read...)},
		"cids":   {token(t, "", identitytest.CIDs("fs/read", home, "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku")), []string{"vfs_list_cids", "vfs_read_cid"}},
	} {
		slices.Sort(c.want)
		if diff := cmp.Diff(c.want, connect(t, base, c.token).tools()); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestToolsWork(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	a := connect(t, serve(t, w), token(t, "*"))
	text := a.must("vfs_write", m{"path": "/notes/a.md", "content": "one\ntwo\nthree\n"})
	f, err := w.Stat(t.Context(), filestore.Owner(alice.DID), "/notes/a.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := "Created `/notes/a.md`.\ncid: " + f.CID + "\nversion: 1"; text != want {
		t.Errorf("write: %q, want %q", text, want)
	}
	if got, want := a.must("vfs_read", m{"path": "/notes/a.md", "offset": 2, "limit": 1}), "     2\ttwo\n… more lines below (3 total). Call vfs_read again with offset=3 to continue."; got != want {
		t.Errorf("read: %q, want %q", got, want)
	}
	if a.must("vfs_read_cid", m{"cid": f.CID}) != a.must("vfs_read", m{"path": "/notes/a.md"}) {
		t.Error("vfs_read_cid has another shape than vfs_read")
	}
	if got, want := a.must("vfs_list_cids", m{}), fmt.Sprintf("%s /notes/a.md (14)\n", f.CID); got != want {
		t.Errorf("list cids: %q, want %q", got, want)
	}
	if got, want := a.must("vfs_list", m{}), "Contents of `/`:\n- /notes/\n"; got != want {
		t.Errorf("list: %q, want %q", got, want)
	}
	a.refused("vfs_write", m{"path": "/notes/a.md", "content": "x"}, "already exists")
	a.refused("vfs_edit", m{"path": "/notes/a.md", "oldString": "o", "newString": "0"}, "appears 2 times")
	a.refused("vfs_edit", m{"path": "/notes/a.md", "oldString": "four", "newString": "4"}, "oldString not found")
	a.refused("vfs_edit", m{"path": "/notes/a.md", "oldString": "one", "newString": "1", "ifCid": "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"}, f.CID)
	if got := a.must("vfs_edit", m{"path": "/notes/a.md", "oldString": "two", "newString": "2", "dryRun": true}); !strings.Contains(got, "-two\n+2\n") {
		t.Errorf("dry run: %q", got)
	}
	a.must("vfs_edit", m{"path": "/notes/a.md", "oldString": "two", "newString": "2", "ifVersion": 1})
	a.must("vfs_append", m{"path": "/notes/a.md", "content": "four\n"})
	if got := a.must("vfs_diff", m{"path": "/notes/a.md", "from": 1}); !strings.Contains(got, "+four") ||
		!strings.Contains(got, "-two") {
		t.Errorf("diff: %q", got)
	}
	if got := a.must("vfs_glob", m{"pattern": "/**/*.md"}); got != "1 match(es):\n/notes/a.md\n" {
		t.Errorf("glob: %q", got)
	}
	if got := a.must("vfs_grep", m{"q": "^f.ur$", "regex": true}); !strings.Contains(got, "4: four") {
		t.Errorf("grep: %q", got)
	}
	w.Index(context.Background(), t)
	if got := a.must("vfs_search", m{"q": "three FOUR"}); !strings.Contains(got, "1. /notes/a.md (lines 3-4)") {
		t.Errorf("search: %q", got)
	}
	a.must("vfs_move", m{"from": "/notes/a.md", "to": "/b.md"})
	a.must("vfs_delete", m{"paths": []string{"/b.md"}})
	a.refused("vfs_read", m{"path": "/b.md"}, "vfs_list")
	a.must("vfs_restore", m{"path": "/b.md"})
	a.must("vfs_restore", m{"path": "/b.md", "version": 1})
	if got := a.must("vfs_read", m{"path": "/b.md"}); !strings.Contains(got, "two") {
		t.Errorf("restored: %q", got)
	}
	if got := a.must("vfs_versions", m{"path": "/b.md"}); !strings.HasPrefix(got, "4 version(s)") {
		t.Errorf("versions: %q", got)
	}
	if got := a.must("vfs_share", m{"path": "/b.md", "public": true}); !strings.Contains(got, "/public/id/") {
		t.Errorf("share: %q", got)
	}
	a.must("vfs_stat", m{"path": "/b.md"})
}

func TestCIDTokenReachesNothingElse(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	base := serve(t, w)
	in, out := w.MustPut(t, alice.DID, "/in", "inside\n"), w.MustPut(t, alice.DID, "/out", "outside\n")
	a := connect(t, base, token(t, "", identitytest.CIDs("fs/read", alice.Home(""), in.CID)))
	if got, want := a.must("vfs_list_cids", m{}), in.CID+" /in (7)\n"; got != want {
		t.Errorf("list: %q, want %q", got, want)
	}
	if got := a.must("vfs_read_cid", m{"cid": in.CID}); !strings.Contains(got, "inside") {
		t.Errorf("read: %q", got)
	}
	a.refused("vfs_read_cid", m{"cid": out.CID}, "does not reach this CID")
	for _, hidden := range []string{"vfs_read", "vfs_list", "vfs_write", "vfs_search"} {
		if _, err := a.CallTool(t.Context(),
			&mcp.CallToolParams{Name: hidden, Arguments: m{"path": "/in", "q": "x", "content": "x"}}); err == nil {
			t.Errorf("%s could be called", hidden)
		}
	}
	if _, err := a.ListResources(t.Context(), nil); err == nil {
		t.Error("resources are listed")
	}
	if _, err := a.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: alice.Home("/in")}); err == nil {
		t.Error("a resource was read")
	}
}

func TestResources(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	for i := range 130 {
		w.MustPut(t, alice.DID, fmt.Sprintf("/f/%03d ü", i), fmt.Sprint(i))
	}
	a := connect(t, serve(t, w), token(t, "*"))
	var uris []string
	for r, err := range a.Resources(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		uris = append(uris, r.URI)
	}
	if len(uris) != 130 {
		t.Fatalf("%d resources", len(uris))
	}
	got, err := a.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uris[7]})
	if err != nil || got.Contents[0].Text != "7" {
		t.Errorf("read %s: %+v, %v", uris[7], got, err)
	}
	if _, err := a.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: identitytest.Bob.Home("/f/000")}); err == nil {
		t.Error("a foreign namespace was read")
	}
}

func TestWithoutATokenTheClientLearnsWhatIsWanted(t *testing.T) {
	t.Parallel()
	base := serve(t, filestoretest.Embedded(t))
	r, err := http.Post(base+"/mcp", "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	if r.StatusCode != http.StatusUnauthorized || !strings.Contains(r.Header.Get("Www-Authenticate"), `resource_metadata="`+base+`/.well-known/oauth-protected-resource/mcp"`) ||
		!strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		t.Errorf("%d %v", r.StatusCode, r.Header)
	}
	meta, err := http.Get(base + "/.well-known/oauth-protected-resource/mcp")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = meta.Body.Close() }()
	if meta.StatusCode != http.StatusOK {
		t.Errorf("metadata: %d", meta.StatusCode)
	}
}

func TestATokenIsReusable(t *testing.T) {
	t.Parallel()
	base := serve(t, filestoretest.Embedded(t))
	same := token(t, "*")
	for range 3 {
		connect(t, base, same).must("vfs_list", m{})
	}
}

// A file becomes public, or stays so, by a clear word alone.
func TestSharingTakesAClearWord(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	a := connect(t, serve(t, w), token(t, "*"))
	id := w.MustPut(t, alice.DID, "/f", "secret").ID
	public := func() bool {
		f, err := w.StatID(t.Context(), filestore.Owner(alice.DID), id)
		if err != nil {
			t.Fatal(err)
		}
		return f.PublicID != ""
	}
	for _, state := range []bool{false, true} {
		if state {
			a.must("vfs_share", m{"path": "/f", "public": true})
		}
		for _, args := range []m{
			{"path": "/f"},
			{"path": "/f", "Public": false},
			{"path": "/f", "publik": false},
			{"path": "/f", "public": false, "publik": true},
			{"path": "/f", "public": nil},
			{"path": "/f", "public": "false"},
			{"path": "/f", "public": 0},
		} {
			r, err := a.CallTool(t.Context(), &mcp.CallToolParams{Name: "vfs_share", Arguments: args})
			if err == nil && !r.IsError {
				t.Errorf("%v was taken", args)
			}
			if public() != state {
				t.Fatalf("%v: public is %t now", args, public())
			}
		}
	}
	a.must("vfs_share", m{"path": "/f", "public": false})
	if public() {
		t.Error("still public")
	}
}

// Schemas have one type each: clients that know no unions read them too.
func TestSchemasArePortable(t *testing.T) {
	t.Parallel()
	a := connect(t, serve(t, filestoretest.Embedded(t)), token(t, "*"))
	var walk func(tool, at string, v any)
	walk = func(tool, at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if _, many := v["type"].([]any); many {
				t.Errorf("%s: %s may be one of %v", tool, at, v["type"])
			}
			for key, member := range v {
				walk(tool, at+"/"+key, member)
			}
		case []any:
			for _, member := range v {
				walk(tool, at, member)
			}
		}
	}
	for tool, err := range a.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		walk(tool.Name, "input", tool.InputSchema)
		walk(tool.Name, "output", tool.OutputSchema)
	}
	a.refused("vfs_delete", m{"paths": nil}, "paths")
	a.refused("vfs_delete", m{"paths": []string{}}, "1 to 1000")
}

// What an agent is told to do next it can do: the tools that a text names are
// among those of the token.
func TestTextsNameToolsThatTheTokenHas(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	base := serve(t, w)
	f := w.MustPut(t, alice.DID, "/f", "x\n")
	absent := w.MustPut(t, alice.DID, "/gone", "gone\n").CID
	if _, err := w.Trash(t.Context(), filestore.Owner(alice.DID), filestore.Target{Path: "/gone"}); err != nil {
		t.Fatal(err)
	}
	home := alice.Home("")
	named := regexp.MustCompile(`vfs_[a-z_]+`)
	for name, bearer := range map[string]string{
		"owner": token(t, "*"), "list": token(t, "", identitytest.Can("fs/list", home)),
		"read":  token(t, "", identitytest.Can("fs/read", home)),
		"write": token(t, "", identitytest.Can("fs/write", home)), "delete": token(t, "", identitytest.Can("fs/delete", home)),
		"cids": token(t, "", identitytest.CanNB("fs/read", home, fmt.Sprintf(`{"cids":[%q,%q]}`, f.CID, absent))),
	} {
		a := connect(t, base, bearer)
		tools := a.tools()
		texts := []string{a.InitializeResult().Instructions}
		for tool, err := range a.Tools(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, tool.Description)
			for _, args := range []m{
				{"path": "/none"},
				{"path": "/f"},
				{"path": "/f", "content": "y"},
				{"paths": []string{"/none"}},
				{"paths": []string{"/none", "/no"}},
				{"cid": absent},
				{"cid": f.CID},
				{"from": "/none", "to": "/x"},
				{"path": "/none", "oldString": "a", "newString": "b"},
				{"q": "x"},
				{"pattern": "/*"},
				{},
			} {
				if r, err := a.CallTool(t.Context(), &mcp.CallToolParams{Name: tool.Name, Arguments: args}); err == nil &&
					len(r.Content) > 0 {
					texts = append(texts, r.Content[0].(*mcp.TextContent).Text)
				}
			}
		}
		for _, text := range texts {
			for _, tool := range named.FindAllString(text, -1) {
				if !slices.Contains(tools, tool) {
					t.Errorf("%s is told of %s: %s", name, tool, text)
				}
			}
		}
	}
}
