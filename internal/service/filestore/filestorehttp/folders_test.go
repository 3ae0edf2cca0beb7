package filestorehttp_test

import (
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

func TestFoldersOverHTTP(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		s.put("/a/1", "one")
		s.put("/a/b/2", "two")
		made := decode[filestorehttp.FolderMade](s.own("POST", "/api/fs/folders", `{"path":"/a/empty"}`).want(201))
		if made.Path != "/a/empty" || made.CreatedAt == "" {
			t.Errorf("made %+v", made)
		}
		s.own("POST", "/api/fs/folders", `{"path":"/a/empty"}`).want(200)
		s.own("POST", "/api/fs/folders", `{"path":"/a/1"}`).want(409)
		s.own("POST", "/api/fs/folders", `{"path":"/"}`).want(400)
		s.own("POST", "/api/fs/files?path=/a/1/below", "x").want(409)
		if got := decode[filestorehttp.Moved](s.own("POST", "/api/fs/copy", `{"from":"/a","to":"/c"}`).want(200)); got.Count != 3 || got.File != nil {
			t.Errorf("copied %+v", got)
		}
		s.own("POST", "/api/fs/copy", `{"from":"/a","to":"/c"}`).want(409)
		one := decode[filestorehttp.Moved](s.own("POST", "/api/fs/copy", `{"from":"/a/1","to":"/c/3"}`).want(200))
		if one.Count != 1 || one.File == nil || one.File.Path != "/c/3" {
			t.Errorf("copied %+v", one)
		}
		s.own("POST", "/api/fs/move", `{"from":"/a","to":"/a/b"}`).want(400)
		if got := decode[filestorehttp.Moved](s.own("POST", "/api/fs/move", `{"from":"/a","to":"/d"}`).want(200)); got.Count != 3 {
			t.Errorf("moved %+v", got)
		}
		if got := decode[filestorehttp.Moved](s.own("DELETE", "/api/fs/folders?path=/c", "").want(200)); got.Count != 4 {
			t.Errorf("deleted %+v", got)
		}
		s.own("DELETE", "/api/fs/folders?path=/c", "").want(404)
		var names []string
		for _, n := range decode[filestorehttp.NodeList](s.own("GET", "/api/fs/tree?path=/d", "").want(200)).Nodes {
			names = append(names, n.Type+" "+n.Path)
		}
		if got := strings.Join(names, ", "); got != "file /d/1, folder /d/b, folder /d/empty" {
			t.Errorf("left are %s", got)
		}
	})
}

// What is listed says which folders stay when they are empty, page by page, and who
// takes one away can refuse to take more.
func TestMadeFoldersOverHTTP(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		s.put("/a/file", "implies /a")
		for _, path := range []string{"/a/1", "/a/2", "/a/.dot", "/b"} {
			s.own("POST", "/api/fs/folders", `{"path":"`+path+`"}`).want(201)
		}
		list := func(a answer) string {
			var paths []string
			for _, f := range decode[filestorehttp.FolderList](a.want(200)).Folders {
				if f.CreatedAt == "" {
					t.Errorf("%+v", f)
				}
				paths = append(paths, f.Path)
			}
			return strings.Join(paths, " ")
		}
		for query, want := range map[string]string{
			"": "/a/.dot /a/1 /a/2 /b", "?path=/a/": "/a/.dot /a/1 /a/2", "?path=/a/1": "/a/1", "?path=/none": "",
			"?limit=2": "/a/.dot /a/1", "?limit=2&after=/a/1": "/a/2 /b", "?limit=99999999999999999999": "/a/.dot /a/1 /a/2 /b",
		} {
			if got := list(s.own("GET", "/api/fs/folders"+query, "")); got != want {
				t.Errorf("%q lists %q, want %q", query, got, want)
			}
		}
		grant := identitytest.Delegation(t, alice, bob.DID, identitytest.Can("fs/list", alice.Home("/a")))
		theirs := token(t, bob, "", identitytest.Can("fs/list", alice.Home("/a")), identitytest.Proof(grant))
		if got := list(s.do(theirs, "GET", "/api/fs/folders", "")); got != "/a/1 /a/2" {
			t.Errorf("whoever may list a folder sees %q", got)
		}
		for _, query := range []string{"?limit=0", "?limit=x", "?path=/a/../b", "?after=%ff"} {
			s.own("GET", "/api/fs/folders"+query, "").want(400)
		}
		if a := s.own("DELETE", "/api/fs/folders?path=/a&empty=true", "").want(409); !strings.Contains(a.body, "folder_not_empty") {
			t.Errorf("the refusal is %s", a.body)
		}
		s.own("DELETE", "/api/fs/folders?path=/b&empty=yes", "").want(400)
		s.own("DELETE", "/api/fs/folders?path=/b&empty=true", "").want(200)
		s.own("DELETE", "/api/fs/folders?path=/b&empty=true", "").want(404)
		if got := list(s.own("GET", "/api/fs/folders", "")); got != "/a/.dot /a/1 /a/2" {
			t.Errorf("left are %q", got)
		}
	})
}

// Two folders of one name are put together only when somebody said so.
func TestWhatMeetsAFolder(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		tree := func(path string) string {
			var names []string
			for _, n := range decode[filestorehttp.NodeList](s.own("GET", "/api/fs/tree?path="+path, "").want(200)).Nodes {
				names = append(names, n.Name)
			}
			return strings.Join(names, " ")
		}
		s.put("/from/box/new", "new")
		s.put("/to/box/old", "old")
		s.put("/file", "file")
		s.own("POST", "/api/fs/folders", `{"path":"/empty"}`).want(201)
		for _, act := range []string{"move", "copy"} {
			s.own("POST", "/api/fs/"+act, `{"from":"/from/box","to":"/to/box","onto":"nothing"}`).want(409)
			s.own("POST", "/api/fs/"+act, `{"from":"/from/box","to":"/empty","onto":"nothing"}`).want(409)
			s.own("POST", "/api/fs/"+act, `{"from":"/from/box","to":"/file","onto":"nothing"}`).want(409)
			s.own("POST", "/api/fs/"+act, `{"from":"/file","to":"/to/box","onto":"nothing"}`).want(409)
			s.own("POST", "/api/fs/"+act, `{"from":"/file","to":"/to/box/old","onto":"nothing"}`).want(409)
			if got := s.own("POST", "/api/fs/"+act, `{"from":"/file","to":"/x","onto":"none"}`).want(400); !strings.Contains(got.body, "nothing, merge, overwrite or replace") {
				t.Errorf("the refusal is %s", got.body)
			}
		}
		if got := tree("/to/box"); got != "old" {
			t.Fatalf("refused, the folder has %s", got)
		}
		s.own("POST", "/api/fs/copy", `{"from":"/from/box","to":"/free","onto":"nothing"}`).want(200)
		s.own("POST", "/api/fs/move", `{"from":"/from/box","to":"/to/box","onto":"replace"}`).want(200)
		if got := tree("/to/box"); got != "new" {
			t.Errorf("replaced, the folder has %s", got)
		}
		s.own("POST", "/api/fs/move", `{"from":"/file","to":"/to/box","onto":"replace"}`).want(200)
		if got := tree("/to"); got != "box" {
			t.Errorf("a file in the place of a folder: %s", got)
		}
		s.put("/another", "another")
		s.own("POST", "/api/fs/move", `{"from":"/another","to":"/to/box","onto":"replace"}`).want(200)
		s.own("POST", "/api/fs/move", `{"from":"/to/box","to":"/to/nobody","onto":"replace"}`).want(200)
		s.own("POST", "/api/fs/move", `{"from":"/to/nobody","to":"/to/box","onto":"overwrite"}`).want(200)
		s.own("POST", "/api/fs/copy", `{"from":"/free","to":"/to/box","onto":"replace"}`).want(200)
		s.own("POST", "/api/fs/copy", `{"from":"/empty","to":"/to/box","onto":"merge"}`).want(200)
		if got := tree("/to/box"); got != "new" {
			t.Errorf("put together, the folder has %s", got)
		}
	})
}
