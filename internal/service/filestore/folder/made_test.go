package folder_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/internal/service/filestore/folder"
)

// made lists the made folders that somebody sees at and below a path, page by page.
func made(t *testing.T, w *filestoretest.World, a filestore.Access, path string, limit int) string {
	t.Helper()
	var paths []string
	for after := ""; ; after = paths[len(paths)-1] {
		page, err := w.Folders.Made(t.Context(), a, path, after, limit)
		if err != nil || len(page) > limit || len(paths) > 100 {
			t.Fatalf("%s after %q: %d folders, %v", path, after, len(page), err)
		}
		for _, f := range page {
			if !f.Made() || f.Created.IsZero() {
				t.Errorf("%+v was not made", f)
			}
			paths = append(paths, f.Path)
		}
		if len(page) < limit {
			return strings.Join(paths, " ")
		}
	}
}

// Those who may list see each folder that was made where they reach: dot-folders and
// folders of others are not shown, and neither are those that files imply.
func TestMadeFoldersAreListed(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		put(t, w, "/a/", "/a/b/", "/a/.h/in/", "/a/c/file", "/a/d/", "/a/d/file", "/ab/", "/é/")
		if _, _, err := w.Folders.Make(t.Context(), filestore.Owner("did:key:zOther"), "/a/other"); err != nil {
			t.Fatal(err)
		}
		scoped := below("/", filestore.All)
		scoped.Scoped, scoped.CIDs = true, []string{"bafy"}
		several := below("/a/b", filestore.Read|filestore.List)
		several.Grants = append(several.Grants, filestore.Grant{Abilities: filestore.List, Area: vfspath.Area{Root: "/é"}})
		for name, c := range map[string]struct {
			who        filestore.Access
			path, want string
		}{
			"all":                        {owner, "/", "/a /a/.h/in /a/b /a/d /ab /é"},
			"a folder and what is in it": {owner, "/a", "/a /a/.h/in /a/b /a/d"},
			"with a slash":               {owner, "/a/", "/a /a/.h/in /a/b /a/d"},
			"one without any":            {owner, "/a/c", ""},
			"no dot-folders":             {below("/", filestore.List), "/", "/a /a/b /a/d /ab /é"},
			"a subtree":                  {below("/a/b", filestore.List), "/", "/a/b"},
			"beside the subtree":         {below("/a/b", filestore.List), "/ab", ""},
			"two subtrees":               {several, "/", "/a/b /é"},
			"of somebody else":           {filestore.Owner("did:key:zOther"), "/", "/a/other"},
		} {
			for _, limit := range []int{1, 2, 100} {
				if got := made(t, w, c.who, c.path, limit); got != c.want {
					t.Errorf("%s, by %d: %q, want %q", name, limit, got, c.want)
				}
			}
		}
		for name, a := range map[string]filestore.Access{"by content": scoped, "without listing": below("/", 0)} {
			if _, err := w.Folders.Made(t.Context(), a, "/", "", 10); !fault.Is(err, fault.Forbidden) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, bad := range [][2]string{{"/a/../b", ""}, {"/a", "\xff"}} {
			if _, err := w.Folders.Made(t.Context(), owner, bad[0], bad[1], 10); !fault.Is(err, fault.Invalid) {
				t.Errorf("%q: %v", bad, err)
			}
		}
	})
}

// However many were made, a page is bounded, and one that takes them all does.
func TestManyMadeFolders(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		const more = 3
		makeMany(t, w, 1000+more)
		page, err := w.Folders.Made(t.Context(), owner, "/many", "", 1_000_000)
		if err != nil || len(page) != 1000 {
			t.Fatalf("%d folders, %v", len(page), err)
		}
		rest, err := w.Folders.Made(t.Context(), owner, "/many", page[999].Path, 1_000_000)
		if err != nil || len(rest) != more || rest[0].Path != "/many/01000" {
			t.Errorf("%d folders after them, %v", len(rest), err)
		}
		scope, err := owner.Scope(filestore.Read)
		if err != nil {
			t.Fatal(err)
		}
		whole := 0
		err = w.Folders.EachMade(t.Context(), scope, "/many", func(page []folder.Folder) error {
			whole += len(page)
			return nil
		})
		if err != nil || whole != 1000+more {
			t.Errorf("all are %d, %v", whole, err)
		}
	})
}

func TestOnlyAnEmptyFolderIsDropped(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		put(t, w, "/a/", "/a/b/", "/c/", "/c/file", "/d/e/", "/h/", "/h/.h")
		for path, kind := range map[string]fault.Kind{
			"/a": fault.Conflict, "/c": fault.Conflict, "/d": fault.Conflict, "/x": fault.NotFound, "/c/file": fault.NotFound,
			"/": fault.Invalid,
		} {
			if _, err := w.Folders.Drop(t.Context(), owner, path, filestore.Once{}); !fault.Is(err, kind) {
				t.Errorf("%s: %v, want %v", path, err, kind)
			}
		}
		if _, err := w.Folders.Drop(t.Context(), below("/", filestore.Write), "/a/b", filestore.Once{}); !fault.Is(err,
			fault.Forbidden) {
			t.Errorf("without fs/delete: %v", err)
		}
		for _, path := range []string{"/a/b", "/a", "/d/e"} {
			if r, err := w.Folders.Drop(t.Context(), owner, path, filestore.Once{}); err != nil || r.Count != 1 {
				t.Errorf("%s: %+v, %v", path, r, err)
			}
		}
		// Whoever does not see the dot-file in it takes the folder for empty: the file stays.
		if _, err := w.Folders.Drop(t.Context(), below("/", filestore.All), "/h", filestore.Once{}); err != nil {
			t.Error(err)
		}
		if got := all(t, w); got != "/c/ /c/file /h/ /h/.h" {
			t.Errorf("left are %s", got)
		}
	})
}

// makeMany makes folders in /many.
func makeMany(t *testing.T, w *filestoretest.World, n int) {
	t.Helper()
	for i := range n {
		put(t, w, fmt.Sprintf("/many/%05d/", i))
	}
}
