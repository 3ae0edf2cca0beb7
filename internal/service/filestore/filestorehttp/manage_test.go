package filestorehttp_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/protocol/car"
	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

func paths(files []filestorehttp.FileMetadata) string {
	var out []string
	for _, f := range files {
		out = append(out, f.Path)
	}
	return strings.Join(out, " ")
}

func TestTreeFilesGlob(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		for _, p := range []string{"/a.txt", "/a/1.md", "/a/2.md", "/a/b/3.md", "/a-x", "/.hidden/y", "/z*z"} {
			s.put(strings.ReplaceAll(p, "*", "%2A"), p)
		}
		var names []string
		for _, n := range decode[filestorehttp.NodeList](s.own("GET", "/api/fs/tree", "").want(200)).Nodes {
			names = append(names, n.Type+" "+n.Path)
		}
		if diff := cmp.Diff([]string{"folder /.hidden", "file /a-x", "file /a.txt", "folder /a", "file /z*z"}, names); diff != "" {
			t.Error(diff)
		}
		again := s.put("/a-x", "another version")
		for _, n := range decode[filestorehttp.NodeList](s.own("GET", "/api/fs/tree", "").want(200)).Nodes {
			isFolder := n.Type == "folder" && n.Version == 0 && n.UpdatedAt == ""
			isFirst := n.Type == "file" && n.Version == 1 && n.UpdatedAt != ""
			isAgain := n.Path == "/a-x" && n.Version == 2 && n.UpdatedAt == again.UpdatedAt
			if !isFolder && !isFirst && !isAgain {
				t.Errorf("the tree tells of %s: version %d of %q", n.Path, n.Version, n.UpdatedAt)
			}
		}
		for query, want := range map[string]string{
			"files?path=/a": "/a-x /a.txt /a/1.md /a/2.md /a/b/3.md", "files?path=/a/&limit=1&offset=1": "/a/2.md",
			"glob?pattern=/a/*.md": "/a/1.md /a/2.md", "glob?pattern=/**/*.md": "/a/1.md /a/2.md /a/b/3.md", "glob?pattern=/a?x": "/a-x",
			"glob?pattern=/a.txt": "/a.txt", "glob?pattern=/**": "/.hidden/y /a-x /a.txt /a/1.md /a/2.md /a/b/3.md /z*z", "glob?pattern=/a/**": "/a/1.md /a/2.md /a/b/3.md",
		} {
			if got := paths(decode[filestorehttp.FileList](s.own("GET", "/api/fs/"+query, "").want(200)).Files); got != want {
				t.Errorf("%s: %q, want %q", query, got, want)
			}
		}
	})
}

func TestTrashRestorePurge(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		f := s.put("/f", "content")
		ids := `{"ids":["` + f.ID + `"]}`
		batch := func(op string) filestorehttp.BatchResult {
			return decode[filestorehttp.BatchResult](s.own("POST", "/api/fs/batch/"+op, ids).want(200))
		}
		if r := batch("purge"); r.Failed != 1 || r.Results[0].Status != 404 {
			t.Errorf("purge outside the trash: %+v", r)
		}
		if r := batch("delete"); r.Succeeded != 1 {
			t.Fatalf("delete: %+v", r)
		}
		s.own("GET", "/api/fs/cid/"+f.CID, "").want(404)
		s.own("GET", "/api/fs/files/"+f.ID+"/content", "").want(404)
		if got := paths(decode[filestorehttp.FileList](s.own("GET", "/api/fs/trash", "").want(200)).Files); got != "/f" {
			t.Errorf("trash: %q", got)
		}
		s.put("/f", "new")
		s.own("POST", "/api/fs/files/"+f.ID+"/restore", "").want(409)
		s.own("POST", "/api/fs/files/"+f.ID+"/restore?path=/g", "").want(200)
		s.own("GET", "/api/fs/cid/"+f.CID, "").want(200)
		batch("delete")
		if r := batch("purge"); r.Succeeded != 1 {
			t.Errorf("purge: %+v", r)
		}
		u := decode[filestorehttp.UsageBody](s.own("GET", "/api/fs/usage", "").want(200))
		if u.Files != 1 || u.Bytes != 3 || u.TrashFiles != 0 || u.Versions != 1 || u.VersionBytes != 3 {
			t.Errorf("usage %+v", u)
		}
	})
}

// A batch has a thousand items, each with all it may have, and no crowd of empty ones.
func TestABatchHasItsSize(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	full := strings.Repeat(`{"id":"x","destinationPath":"/y","overwrite":true},`, 1000)
	s.own("POST", "/api/fs/batch/move", `{"items":[`+strings.TrimSuffix(full, ",")+`]}`).want(200)
	for _, op := range []string{"move", "delete"} {
		crowd := `{"ids":[` + strings.Repeat(`"",`, 30_000) + `""]}`
		if op == "move" {
			crowd = `{"items":[` + strings.Repeat(`{},`, 30_000) + `{}]}`
		}
		if r := s.own("POST", "/api/fs/batch/"+op, crowd).want(400); !strings.Contains(r.body, "more than 20000 values") {
			t.Errorf("%s: %s", op, r.body)
		}
	}
}

func TestBatchMove(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	a, b := s.put("/a", "a"), s.put("/b", "b")
	body := fmt.Sprintf(`{"items":[{"id":%q,"destinationPath":"/c/d"},{"id":%q,"destinationPath":"/c/d"},{"id":%q,"destinationPath":"/x"},{"id":"none","destinationPath":"/y"},{"id":"n2","destinationPath":"/../y"}]}`, a.ID, b.ID, a.ID)
	r := decode[filestorehttp.BatchResult](s.own("POST", "/api/fs/batch/move", body).want(200))
	var got []string
	for _, i := range r.Results {
		got = append(got, fmt.Sprintf("%d %s%s", i.Status, i.Path, i.Error))
	}
	want := []string{"200 /c/d", "409 Destination occupied: /c/d", "409 Duplicate id", "404 no such file", "400 path has a segment . or .."}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	s.own("POST", "/api/fs/move", `{"from":"/b","to":"/c/d"}`).want(409)
	s.own("POST", "/api/fs/move", `{"from":"/b","to":"/c/d","overwrite":true}`).want(200)
	m := decode[filestorehttp.Moved](s.own("POST", "/api/fs/move", `{"from":"/c","to":"/e"}`).want(200))
	if m.Count != 1 {
		t.Errorf("folder move: %+v", m)
	}
	s.own("GET", "/api/fs/stat?path=/e/d", "").want(200)
}

// A batch notes as many changes as it has items: it counts as an act on a folder does.
func TestBatchesNoteSoMuch(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	s := newSite(t, w)
	a := s.put("/a", "a")
	w.Folders.Noted(identitytest.Alice.DID, 256<<20)
	one := fmt.Sprintf(`{"ids":[%q]}`, a.ID)
	s.own("POST", "/api/fs/batch/delete", one).want(200)
	s.own("POST", "/api/fs/batch/restore", one).want(429)
	r := s.own("POST", "/api/fs/batch/move", fmt.Sprintf(`{"items":[{"id":%q,"destinationPath":"/c"}]}`, a.ID)).want(429)
	if got := r.header.Get("Retry-After"); got != "1" || !strings.Contains(r.body, "too_many_changes") {
		t.Errorf("after %s: %s", got, r.body)
	}
	s.own("POST", "/api/fs/batch/delete", one).want(200)
	w.Clock.Add(time.Minute)
	s.own("POST", "/api/fs/batch/restore", one).want(200)
}

func TestVersionsStayReadable(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	f := s.put("/v", "one")
	for _, text := range []string{"two", "three"} {
		s.own("PUT", "/api/fs/files/"+f.ID, text).want(200)
	}
	if a := s.own("GET", "/api/fs/files/"+f.ID+"/versions/1/content", "").want(200); a.body != "one" || a.header.Get("X-Vfs-Version") != "1" {
		t.Errorf("version 1: %q %v", a.body, a.header)
	}
	s.own("POST", "/api/fs/files/"+f.ID+"/versions/1/restore", "").want(200)
	if a := s.own("GET", "/api/fs/files/"+f.ID+"/content", "").want(200); a.body != "one" || a.header.Get("X-Vfs-Version") != "4" {
		t.Errorf("restored: %q %v", a.body, a.header)
	}
	s.own("PUT", "/api/fs/files/"+f.ID+"?keep=2", "five").want(200)
	v := decode[filestorehttp.VersionList](s.own("GET", "/api/fs/files/"+f.ID+"/versions", "").want(200))
	if len(v.Versions) != 2 || v.Versions[0].Version != 5 || v.Versions[1].Version != 4 {
		t.Errorf("retained %+v", v)
	}
	if a := s.own("GET", "/api/fs/files/"+f.ID+"/versions/4/content", "").want(200); a.body != "one" {
		t.Error("a shared blob was shredded with the version that is gone")
	}
	s.own("GET", "/api/fs/files/"+f.ID+"/versions/1/content", "").want(404)
	s.own("GET", "/api/fs/files/"+f.ID+"/versions/0/content", "").want(400)
}

func TestDotFilesAreHiddenFromDelegates(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	s.put("/open", "1")
	secret := s.put("/.private/key", "2")
	grant := identitytest.Delegation(t, alice, bob.DID, identitytest.Can("fs/read", alice.Home("")))
	guest := func() string {
		return token(t, bob, "", identitytest.Can("fs/read", alice.Home("")), identitytest.Proof(grant))
	}
	if got := paths(decode[filestorehttp.FileList](s.do(guest(), "GET", "/api/fs/files", "").want(200)).Files); got != "/open" {
		t.Errorf("a delegate sees %q", got)
	}
	s.do(guest(), "GET", "/api/fs/cid/"+secret.CID, "").want(404)
	s.do(guest(), "GET", "/api/fs/content?path=/.private/key", "").want(404)
	shown := identitytest.Delegation(t, alice, bob.DID, identitytest.CanNB("fs/read", alice.Home(""), `{"hidden":["*"]}`))
	let := func() string {
		return token(t, bob, "", identitytest.CanNB("fs/read", alice.Home(""), `{"hidden":["/.private"]}`), identitytest.Proof(shown))
	}
	s.do(let(), "GET", "/api/fs/content?path=/.private/key", "").want(200)
	silent := func() string {
		return token(t, bob, "", identitytest.Can("fs/read", alice.Home("")), identitytest.Proof(shown))
	}
	s.do(silent(), "GET", "/api/fs/content?path=/.private/key", "").want(404)
}

func TestAbilities(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	f := s.put("/f", "x")
	for _, c := range []struct {
		can, method, target, body string
		want                      int
	}{
		{"fs/list", "GET", "/api/fs/tree", "", 200},
		{"fs/list", "GET", "/api/fs/content?path=/f", "", 403},
		{"fs/read", "GET", "/api/fs/tree", "", 200},
		{"fs/read", "PUT", "/api/fs/content?path=/f", "y", 403},
		{"fs/write", "PUT", "/api/fs/content?path=/f", "y", 200},
		{"fs/write", "GET", "/api/fs/content?path=/f", "", 200},
		{"fs/write", "DELETE", "/api/fs/content?path=/f", "", 403},
		{"fs/write", "POST", "/api/fs/batch/delete", `{"ids":["` + f.ID + `"]}`, 403},
		{"fs/delete", "PUT", "/api/fs/content?path=/f", "y", 403},
		{"fs/read", "GET", "/api/fs/audit", "", 403},
		{"fs/delete", "DELETE", "/api/fs/content?path=/f", "", 200},
	} {
		bearer := token(t, alice, "", identitytest.Can(c.can, alice.Home("")))
		if a := s.do(bearer, c.method, c.target, c.body); a.status != c.want {
			t.Errorf("%s: %s %s: %d, want %d: %s", c.can, c.method, c.target, a.status, c.want, a.body)
		}
	}
	narrow := func() string { return token(t, alice, "", identitytest.Can("fs/write", alice.Home("/in"))) }
	s.do(narrow(), "PUT", "/api/fs/content?path=/out", "x").want(403)
	s.do(narrow(), "PUT", "/api/fs/content?path=/in/x", "x").want(201)
	s.do(narrow(), "POST", "/api/fs/move", `{"from":"/in/x","to":"/out"}`).want(403)
	s.do(narrow(), "PUT", "/api/fs/content?path=/inside", "x").want(403)
}

func TestBadPathsAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	for _, p := range []string{
		"", "a", "/", "//a", "/a/", "/a//b", "/./a", "/a/../b", "/a%00b", "/a%0Ab", "/%ff",
		"/a%E2%80%AEb", "/" + strings.Repeat("a", 1024),
	} {
		s.own("PUT", "/api/fs/content?path="+p, "x").want(400)
		s.own("GET", "/api/fs/content?path="+p, "").want(400)
	}
	s.put("/e%CC%81", "decomposed") // é as two characters is the same path as one
	if a := s.own("GET", "/api/fs/content?path=/%C3%A9", "").want(200); a.body != "decomposed" {
		t.Error(a.body)
	}
	s.put("/A", "upper")
	s.own("GET", "/api/fs/content?path=/a", "").want(404)
	s.put("/"+strings.Repeat("%C3%A9", 1023), "long")
}

func TestChangesAndAudit(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		f := s.put("/a/x", "1")
		s.put("/a/x", "2")
		s.own("POST", "/api/fs/move", `{"from":"/a/x","to":"/b/x"}`).want(200)
		s.own("DELETE", "/api/fs/content?path=/b/x", "").want(200)
		var ops []string
		list := decode[filestorehttp.ChangeList](s.own("GET", "/api/fs/changes", "").want(200))
		for _, c := range list.Changes {
			ops = append(ops, fmt.Sprintf("%d %s %s%s", c.Seq, c.Op, c.From, c.Path))
		}
		if diff := cmp.Diff([]string{"1 create /a/x", "2 update /a/x", "3 move /a/x/b/x", "4 trash /b/x"}, ops); diff != "" || list.Next != 4 {
			t.Error(list.Next, diff)
		}
		scoped := token(t, alice, "", identitytest.Can("fs/list", alice.Home("/a")))
		ops = nil
		for _, c := range decode[filestorehttp.ChangeList](s.do(scoped, "GET", "/api/fs/changes", "").want(200)).Changes {
			ops = append(ops, fmt.Sprintf("%s from %q to %q", c.Op, c.From, c.Path))
		}
		if diff := cmp.Diff([]string{`create from "" to "/a/x"`, `update from "" to "/a/x"`, `move from "/a/x" to ""`}, ops); diff != "" {
			t.Error(diff)
		}
		audit := decode[filestorehttp.AuditList](s.own("GET", "/api/fs/audit?since=1&limit=1", "").want(200))
		if e := audit.Entries[0]; e.Invoker != alice.DID || e.Actor != alice.DID || e.Proof == "" || e.Before != f.CID ||
			audit.Next != 2 {
			t.Errorf("audit %+v", audit)
		}
	})
}

func TestChangesStream(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	s.put("/1", "x")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/api/fs/changes", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+owner(t))
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Last-Event-ID", "1")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	s.put("/2", "y")
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data:"); ok {
			if !strings.Contains(data, `"seq":2`) || !strings.Contains(data, `"/2"`) {
				t.Errorf("first change %s", data)
			}
			return
		}
	}
	t.Error("the stream ended")
}

func TestExportIsACar(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	large := strings.Repeat("0123456789", 150_000)
	s.put("/d/a", "small")
	s.put("/d/e/big", large)
	s.put("/other", "not exported")
	a := s.own("GET", "/api/fs/export?path=/d", "").want(200)
	archive, err := car.Read(a.body, 100)
	if err != nil {
		t.Fatal(err)
	}
	// Two folders, one small leaf, a root and two leaves of the large file.
	if len(archive.Blocks) != 6 || fmt.Sprint(len(a.body)) != a.header.Get("Content-Length") {
		t.Errorf("%d blocks, %d bytes", len(archive.Blocks), len(a.body))
	}
	one := s.own("GET", "/api/fs/export?path=/d/e/big", "").want(200)
	if one.header.Get("X-Vfs-Root-Cid") != cidOf(t, large) {
		t.Error("the root of a file's export is not its CID")
	}
	s.own("GET", "/api/fs/export?path=/none", "").want(404)
}

func TestListingsPageByPath(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	want := []string{"/a", "/b/1", "/b/2", "/c"}
	for _, path := range want {
		s.put(path, path)
	}
	for route, paths := range map[string]func(answer) []string{
		"/api/fs/files": func(a answer) (out []string) {
			for _, f := range decode[filestorehttp.FileList](a).Files {
				out = append(out, f.Path)
			}
			return out
		},
		"/api/fs/cids": func(a answer) (out []string) {
			for _, e := range decode[filestorehttp.CIDList](a).CIDs {
				out = append(out, e.Path)
			}
			return out
		},
	} {
		var got []string
		for after := ""; ; after = got[len(got)-1] {
			page := paths(s.own("GET", route+"?limit=3&after="+url.QueryEscape(after), "").want(200))
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", route, diff)
		}
	}
}

// One CID names all that a namespace holds: equal files have an equal root.
func TestANamespaceHasOneRoot(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	root := func() string {
		t.Helper()
		return s.own("HEAD", "/api/fs/export?path=/", "").want(200).header.Get("X-Vfs-Root-Cid")
	}
	s.put("/a", "1")
	s.put("/d/b", "2")
	first := root()
	s.put("/d/b", "3")
	if root() == first || first == "" {
		t.Errorf("other files have the root %q too", first)
	}
	s.put("/d/b", "2")
	if again := root(); again != first {
		t.Errorf("the same files have the roots %s and %s", first, again)
	}
}
