package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/cli"
	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/filestore/carimport"
	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoremcp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

func TestCIDPrintsOneLineAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty, text := filepath.Join(dir, "empty"), filepath.Join(dir, "text")
	for name, content := range map[string]string{empty: "", text: "hello\n"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, _, code := run(t, nil, "cid", empty, text)
	want := "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku  " + empty + "\n" +
		"bafkreicysg23kiwv34eg2d7qweipxwosdo2py4ldv42nbauguluen5v6am  " + text + "\n"
	if code != 0 || out != want {
		t.Errorf("exit %d:\n%swant:\n%s", code, out, want)
	}
	out, _, code = run(t, nil, "cid")
	if code != 0 || out != "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku  -\n" {
		t.Errorf("standard input: exit %d: %s", code, out)
	}
	out, text2, code := run(t, nil, "cid", filepath.Join(dir, "absent"), empty)
	if code != 1 || !strings.Contains(text2, "absent") || !strings.Contains(out, empty) {
		t.Errorf("absent file: exit %d: %s%s", code, out, text2)
	}
}

// shell is a user with a key at a running server.
type shell struct {
	t     *testing.T
	clock *filestoretest.Clock
	dir   string
	env   []string
}

func newShell(t *testing.T) shell {
	t.Helper()
	server, err := httpserver.New(httpserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w, who := filestoretest.Embedded(t), identitytest.New(t)
	for _, surface := range []httpserver.Surface{
		filestorehttp.Surface(w.Service,
			filestorehttp.Deps{
				Folders: w.Folders, Import: carimport.New(w.Service, w.Folders, w.Store),
				Authenticate: identityhttp.Wrap(who, identity.Files),
			}),
		filestoremcp.Surface(w.Service,
			filestoremcp.Deps{Folders: w.Folders, Authenticate: identityhttp.Wrap(who, identity.MCP)}),
		identityhttp.Surface(who, httpserver.CORSPolicy{}, nil),
	} {
		if err := server.Mount(surface); err != nil {
			t.Fatal(err)
		}
	}
	ts := httptest.NewServer(server)
	t.Cleanup(ts.Close)
	dir := t.TempDir()
	s := shell{t, w.Clock, dir, []string{"CASTALIA_URL=" + ts.URL, "CASTALIA_KEY=" + filepath.Join(dir, "key"), "HOME=" + dir}}
	if _, text, code := run(t, nil, "key", "new", "--out", filepath.Join(dir, "key")); code != 0 {
		t.Fatalf("key new: %s", text)
	}
	return s
}

// must runs a command that has to succeed and returns what it prints.
func (s shell) must(args ...string) string {
	s.t.Helper()
	out, text, code := run(s.t, s.env, args...)
	if code != 0 {
		s.t.Fatalf("castalia %s: exit %d: %s", strings.Join(args, " "), code, text)
	}
	return out
}

func (s shell) file(name, content string) string {
	s.t.Helper()
	full := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return full
}

func TestFSFromAShell(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	small := s.file("a.txt", "one\n")
	put := s.must("fs", "put", small, "/docs/a.txt")
	if want := strings.Replace(s.must("cid", small), small, "/docs/a.txt", 1); put != want {
		t.Errorf("put printed %q, want %q", put, want)
	}
	if got := s.must("fs", "cat", "/docs/a.txt"); got != "one\n" {
		t.Errorf("cat: %q", got)
	}
	s.must("fs", "put", s.file("a.txt", "two\n"), "/docs/a.txt")
	if got := s.must("fs", "cat", "--version", "1", "/docs/a.txt"); got != "one\n" {
		t.Errorf("version 1: %q", got)
	}
	if got := s.must("fs", "versions", "/docs/a.txt"); strings.Count(got, "\n") != 2 {
		t.Errorf("versions: %q", got)
	}
	s.must("fs", "mv", "/docs/a.txt", "/docs/b.txt")
	if got := s.must("fs", "ls", "/docs"); !strings.HasPrefix(got, "b.txt ") {
		t.Errorf("ls: %q", got)
	}
	s.must("fs", "get", "/docs/b.txt", filepath.Join(s.dir, "back.txt"))
	if b, err := os.ReadFile(filepath.Join(s.dir, "back.txt")); err != nil || string(b) != "two\n" {
		t.Errorf("get: %q, %v", b, err)
	}
	s.must("fs", "rm", "/docs/b.txt")
	if _, text, code := run(t, s.env, "fs", "cat", "/docs/b.txt"); code != 1 || !strings.Contains(text, "/docs/b.txt: no such file") {
		t.Errorf("cat of a deleted file: exit %d: %s", code, text)
	}
}

func TestFSBringsBackWhatWasRemoved(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.must("fs", "put", s.file("a.txt", "one\n"), "/a.txt")
	s.must("fs", "put", s.file("a.txt", "two\n"), "/a.txt")
	s.must("fs", "restore", "--version", "1", "/a.txt")
	if got := s.must("fs", "cat", "/a.txt"); got != "one\n" {
		t.Errorf("after restoring version 1: %q", got)
	}
	if _, text, code := run(t, s.env, "fs", "restore", "/a.txt"); code != 1 || !strings.Contains(text, "/a.txt: no such file in the trash") {
		t.Errorf("restore of what is not in the trash: exit %d: %s", code, text)
	}
	s.must("fs", "rm", "/a.txt")
	if got := s.must("fs", "trash"); !strings.HasSuffix(got, "/a.txt\n") || strings.Count(got, "\n") != 1 {
		t.Errorf("trash: %q", got)
	}
	s.must("fs", "restore", "/a.txt")
	if got := s.must("fs", "cat", "/a.txt"); got != "one\n" {
		t.Errorf("out of the trash: %q", got)
	}
	s.must("fs", "rm", "/a.txt")
	s.must("fs", "put", s.file("a.txt", "three\n"), "/a.txt")
	s.must("fs", "rm", "/a.txt")
	s.must("fs", "trash", "--purge", "/a.txt")
	if got := s.must("fs", "trash"); got != "" {
		t.Errorf("the trash after a purge: %q", got)
	}
}

// A folder comes out of the trash as it went in, and who forgets -r is told of it.
func TestFSBringsBackFolders(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.file("d/1", "one")
	s.file("d/sub/2", "two")
	s.must("fs", "put", "-r", filepath.Join(s.dir, "d"), "/d")
	s.must("fs", "put", s.file("d/1", "newer"), "/d/1")
	s.must("fs", "rm", "/d/1")
	s.clock.Add(time.Millisecond) // the clock of the test's store stands still
	s.must("fs", "put", s.file("d/1", "newest"), "/d/1")
	s.must("fs", "rm", "-r", "/d")
	if _, text, code := s.said("fs", "restore", "/d"); code != 1 || !strings.Contains(text, "2 files of this folder are in the trash: restore -r") {
		t.Errorf("a folder without -r: exit %d: %s", code, text)
	}
	s.must("fs", "restore", "-r", "/d")
	for path, want := range map[string]string{"/d/1": "newest", "/d/sub/2": "two"} {
		if got := s.must("fs", "cat", path); got != want {
			t.Errorf("%s is %q", path, got)
		}
	}
	if _, text, code := s.said("fs", "restore", "-r", "/none"); code != 1 || !strings.Contains(text, "nothing in the trash was below it") {
		t.Errorf("a folder that was never there: exit %d: %s", code, text)
	}
}

// What is on the disk stays there, unless it is the same or was to be replaced.
func TestFSGetLeavesLocalFilesAlone(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	stored, _, _ := strings.Cut(s.must("fs", "put", s.file("a", "stored"), "/d/a"), " ")
	s.must("fs", "put", s.file("b", "also stored"), "/d/b")
	local := s.file("here/a", "mine")
	here := filepath.Join(s.dir, "here")
	for _, args := range [][]string{
		{"/d/a", local}, {"/d/a", here}, {stored, local}, {"--version", "1", "/d/a", local}, {"-r", "/d", here}, {"/d/a", "/d/b", here},
	} {
		if _, text, code := s.said(append([]string{"fs", "get"}, args...)...); code != 1 || !strings.Contains(text, "other content: --overwrite replaces it") {
			t.Errorf("get %v: exit %d: %s", args, code, text)
		}
		if b, err := os.ReadFile(local); err != nil || string(b) != "mine" {
			t.Errorf("get %v left %q, %v", args, b, err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(here, "b")); err != nil || string(b) != "also stored" {
		t.Errorf("the other file of the folder: %q, %v", b, err)
	}
	s.must("fs", "get", "-r", "--overwrite", "/d", here)
	if b, err := os.ReadFile(local); err != nil || string(b) != "stored" {
		t.Errorf("after --overwrite: %q, %v", b, err)
	}
	if got := s.must("fs", "get", "/d/a", local); got != stored+"  "+local+"\n" {
		t.Errorf("what is the same: %q", got)
	}
	if out, text, code := s.said("fs", "get", "-r", "/d", here); code != 0 || out != "" || !strings.Contains(text, "0 fetched, 2 equal") {
		t.Errorf("a folder that is here: exit %d: %q, %s", code, out, text)
	}
}

func TestFSGoesOnWithADownload(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	content := strings.Repeat("0123456789abcdef", 600_000)
	stored, _, _ := strings.Cut(s.must("fs", "put", s.file("large", content), "/large"), " ")
	target := filepath.Join(s.dir, "back")
	part := filepath.Join(s.dir, ".back."+stored+".part")
	for name, left := range map[string]string{"nothing": "", "a part": content[:3_000_000], "all": content} {
		if err := os.WriteFile(part, []byte(left), 0o600); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(target)
		s.must("fs", "get", "/large", target)
		if b, err := os.ReadFile(target); err != nil || string(b) != content {
			t.Errorf("%s was there: %d bytes came, %v", name, len(b), err)
		}
		if _, err := os.Stat(part); !os.IsNotExist(err) {
			t.Errorf("%s was there: the part stays: %v", name, err)
		}
	}
	if err := os.WriteFile(part, []byte("other bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(target)
	if _, text, code := run(t, s.env, "fs", "get", "/large", target); code != 1 || !strings.Contains(text, "other content") {
		t.Errorf("a spoiled part: exit %d: %s", code, text)
	}
	s.must("fs", "get", "/large", target) // the spoiled part is gone
}

func TestGroupsOfCommandsExplainThemselves(t *testing.T) {
	t.Parallel()
	for _, group := range []string{"fs", "key", "ucan", "chain", "menu"} {
		out, text, code := run(t, nil, group, "--help")
		if code != 0 || text != "" || !strings.Contains(out, "usage: castalia "+group+" ") {
			t.Errorf("castalia %s --help: exit %d, %q, %q", group, code, out, text)
		}
	}
}

func TestFSPutsLargeFilesInPartsAndFoldersWhole(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	large := s.file("tree/deep/large.bin", strings.Repeat("0123456789abcdef", 600_000))
	s.file("tree/x", "x")
	if err := os.MkdirAll(filepath.Join(s.dir, "tree", "empty", "er"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out := s.must("fs", "put", "-r", filepath.Join(s.dir, "tree"), "/t"); strings.Count(out, "\n") != 2 {
		t.Errorf("put -r: %q", out)
	}
	if got := s.must("fs", "ls", "/t/empty"); !strings.HasPrefix(got, "er/") {
		t.Errorf("the empty folder: %q", got)
	}
	s.must("fs", "get", "-r", "/t", filepath.Join(s.dir, "copy"))
	a, _ := os.ReadFile(large)
	b, err := os.ReadFile(filepath.Join(s.dir, "copy", "deep", "large.bin"))
	if err != nil || !bytes.Equal(a, b) {
		t.Errorf("the large file came back otherwise: %v", err)
	}
}

func TestFSShareMakesALinkThatWorksAndEnds(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.must("fs", "put", s.file("a", "shared"), "/a")
	link := strings.TrimSpace(s.must("fs", "share", "--uses", "2", "/a"))
	if !strings.Contains(link, "/console/share#") || strings.Contains(link, "?") {
		t.Fatalf("link %q", link)
	}
	values := fragment(t, link)
	guest := shell{t, s.clock, s.dir, append(s.env, "CASTALIA_KEY="+s.file("guest.key", values["key"]))}
	proof := s.file("proof", values["token"])
	for range 2 {
		if got := guest.must("fs", "cat", "--proof", "@"+proof, "/a"); got != "shared" {
			t.Errorf("by the link: %q", got)
		}
	}
	if _, text, code := run(t, guest.env, "fs", "cat", "--proof", "@"+proof, "/a"); code != 1 ||
		!strings.Contains(text, "the link is over") {
		t.Errorf("third use: exit %d: %s", code, text)
	}
	if got := s.must("fs", "share", "--list"); !strings.Contains(got, "2 uses") {
		t.Errorf("list: %q", got)
	}
	values = fragment(t, strings.TrimSpace(s.must("fs", "share", "/a")))
	guest = shell{t, s.clock, s.dir, append(s.env, "CASTALIA_KEY="+s.file("guest.key", values["key"]))}
	proof = s.file("proof", values["token"])
	guest.must("fs", "cat", "--proof", "@"+proof, "/a")
	for line := range strings.Lines(s.must("fs", "share", "--list")) {
		id, _, _ := strings.Cut(line, " ")
		s.must("fs", "share", "--end", id)
	}
	if got := s.must("fs", "share", "--list"); strings.Contains(got, " open ") || strings.Count(got, " ended ") != 2 {
		t.Errorf("list after ending all: %q", got)
	}
	if _, text, code := run(t, guest.env, "fs", "cat", "--proof", "@"+proof, "/a"); code != 1 {
		t.Errorf("a link that was ended works: exit %d: %s", code, text)
	}
	public := strings.TrimSpace(s.must("fs", "share", "--public", "/a"))
	if !strings.Contains(public, "/public/id/") {
		t.Errorf("public address %q", public)
	}
}

func TestMCPBridge(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.must("fs", "put", s.file("a", "hello\n"), "/a")
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"vfs_read","arguments":{"path":"/a"}}}
nonsense
`
	var out, text bytes.Buffer
	if code := cli.Run(t.Context(), []string{"mcp"},
		cli.IO{In: strings.NewReader(in), Out: &out, Err: &text, Env: s.env}); code != 0 {
		t.Fatalf("exit %d: %s", code, text.String())
	}
	answers := map[string]string{}
	for line := range strings.Lines(out.String()) {
		var m struct {
			ID     any             `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		answers[fmt.Sprint(m.ID)] = string(m.Result) + string(m.Error)
	}
	if !strings.Contains(answers["1"], "castalia-files") || !strings.Contains(answers["2"], "hello") ||
		!strings.Contains(answers["<nil>"], "-32700") {
		t.Errorf("answers %v", answers)
	}
}

// fragment reads what a link carries after #.
func fragment(t *testing.T, link string) map[string]string {
	t.Helper()
	_, text, _ := strings.Cut(link, "#")
	out := map[string]string{}
	for part := range strings.SplitSeq(text, "&") {
		name, value, _ := strings.Cut(part, "=")
		plain, err := url.QueryUnescape(value)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = plain
	}
	return out
}
