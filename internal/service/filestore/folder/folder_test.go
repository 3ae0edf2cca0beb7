package folder_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/internal/service/filestore/folder"
)

const ns = "did:key:zOwner"

var owner = filestore.Owner(ns)

// below returns an access to a subtree that sees no dot-files.
func below(root string, may filestore.Ability) filestore.Access {
	return filestore.Access{
		Namespace: ns, Invoker: "did:key:zDelegate", Actor: ns,
		Grants: []filestore.Grant{{Abilities: may, Area: vfspath.Area{Root: vfspath.Root(root)}}},
	}
}

// all lists a namespace: files with their text, folders with a slash.
func all(t *testing.T, w *filestoretest.World) string {
	t.Helper()
	var list []string
	var walk func(path string)
	walk = func(path string) {
		nodes, next, err := w.Folders.Tree(t.Context(), owner, path, "")
		if err != nil || next != "" {
			t.Fatalf("list %s: %q, %v", path, next, err)
		}
		for _, n := range nodes {
			if n.IsFolder {
				list = append(list, n.Path+"/")
				walk(n.Path)
				continue
			}
			list = append(list, n.Path)
		}
	}
	walk("/")
	return strings.Join(list, " ")
}

func put(t *testing.T, w *filestoretest.World, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if made, ok := strings.CutSuffix(p, "/"); ok {
			if _, _, err := w.Folders.Make(t.Context(), owner, made); err != nil {
				t.Fatalf("make %s: %v", p, err)
			}
			continue
		}
		w.MustPut(t, ns, p, p)
	}
}

func TestAnEmptyFolderStays(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		f, created, err := w.Folders.Make(t.Context(), owner, "/a/b")
		if err != nil || !created || !f.Made() {
			t.Fatalf("%+v, %t, %v", f, created, err)
		}
		again, created, err := w.Folders.Make(t.Context(), owner, "/a/b")
		if err != nil || created || again.ID != f.ID {
			t.Errorf("made again: %+v, %t, %v", again, created, err)
		}
		put(t, w, "/a/b/file", "/a/c/file")
		for _, path := range []string{"/a/b/file", "/a/c/file"} {
			if _, err := w.Trash(t.Context(), owner, filestore.Target{Path: path}); err != nil {
				t.Fatal(err)
			}
		}
		if got := all(t, w); got != "/a/ /a/b/" {
			t.Errorf("left are %s", got)
		}
		for path, there := range map[string]bool{"/": true, "/a": true, "/a/b": true, "/a/c": false, "/a/bb": false} {
			if f, err := w.Folders.At(t.Context(), owner, path); (err == nil) != there ||
				!there && !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: %+v, %v", path, f, err)
			}
		}
		if _, err := w.Folders.At(t.Context(), below("/x", filestore.All), "/a"); !fault.Is(err, fault.NotFound) {
			t.Errorf("out of reach: %v", err)
		}
	})
}

func TestAFolderMovesWhole(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		put(t, w, "/a/1", "/a/b/2", "/a/.h/3", "/a/empty/", "/ab/x", "/é/y")
		before, err := w.Stat(t.Context(), owner, "/a/b/2")
		if err != nil {
			t.Fatal(err)
		}
		r, err := w.Folders.Move(t.Context(), owner, folder.Ends{From: "/a", To: "/é/z"})
		if err != nil || r.Count != 4 {
			t.Fatalf("%d moved, %v", r.Count, err)
		}
		if got := all(t, w); got != "/ab/ /ab/x /é/ /é/y /é/z/ /é/z/.h/ /é/z/.h/3 /é/z/1 /é/z/b/ /é/z/b/2 /é/z/empty/" {
			t.Errorf("after the move: %s", got)
		}
		after, err := w.Stat(t.Context(), owner, "/é/z/b/2")
		if err != nil || after.ID != before.ID || after.CID != before.CID {
			t.Errorf("the file is %+v, %v", after, err)
		}
		if f, err := w.Stat(t.Context(), owner, "/é/z/.h/3"); err != nil || !f.Hidden {
			t.Errorf("a dot-file is hidden: %t, %v", f.Hidden, err)
		}
		events, _, err := w.Changes(t.Context(), owner, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		var moves []string
		for i, e := range events {
			if e.Seq != int64(i+1) {
				t.Errorf("event %d has number %d", i, e.Seq)
			}
			if e.Op == filestore.OpMove {
				moves = append(moves, e.From+">"+e.Path)
			}
		}
		if got := strings.Join(moves, " "); got != "/a/.h/3>/é/z/.h/3 /a/1>/é/z/1 /a/b/2>/é/z/b/2" {
			t.Errorf("the feed has %s", got)
		}
	})
}

// What is below a folder can go up into it, although names meet on the way.
func TestAFolderMovesUp(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		put(t, w, "/a/b/b/x", "/a/b/x", "/a/b/c/")
		if _, err := w.Folders.Move(t.Context(), owner, folder.Ends{From: "/a/b", To: "/a"}); err != nil {
			t.Fatal(err)
		}
		if got := all(t, w); got != "/a/ /a/b/ /a/b/x /a/c/ /a/x" {
			t.Errorf("after the move: %s", got)
		}
	})
}

func TestMovesAndCopiesMeetWhatIsThere(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		put(t, w, "/a/1", "/a/2", "/b/2", "/b/3")
		before := all(t, w)
		for name, do := range map[string]func(context.Context, filestore.Access,
			folder.Ends) (filestore.Receipt, error){"move": w.Folders.Move, "copy": w.Folders.Copy} {
			for what, e := range map[string]folder.Ends{
				"a taken name":      {From: "/a", To: "/b"},
				"a file":            {From: "/a", To: "/b/2"},
				"below a file":      {From: "/a", To: "/b/2/x"},
				"itself":            {From: "/a", To: "/a"},
				"inside itself":     {From: "/a", To: "/a/c", Onto: folder.Overwrite},
				"what it is in":     {From: "/a/1", To: "/a", Onto: folder.Replace},
				"a folder of none":  {From: "/c", To: "/d"},
				"a sibling by text": {From: "/a/", To: "/d"},
			} {
				if _, err := do(t.Context(), owner, e); !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.Invalid) &&
					!fault.Is(err, fault.NotFound) {
					t.Errorf("%s onto %s: %v", name, what, err)
				}
			}
		}
		if got := all(t, w); got != before {
			t.Fatalf("refused acts left %s", got)
		}
		if _, err := w.Folders.Copy(t.Context(), owner,
			folder.Ends{From: "/a", To: "/b", Onto: folder.Overwrite}); err != nil {
			t.Fatal(err)
		}
		if got := all(t, w); got != "/a/ /a/1 /a/2 /b/ /b/1 /b/2 /b/3" {
			t.Errorf("overwritten: %s", got)
		}
		if _, err := w.Folders.Move(t.Context(), owner, folder.Ends{From: "/a", To: "/b", Onto: folder.Replace}); err != nil {
			t.Fatal(err)
		}
		if got := all(t, w); got != "/b/ /b/1 /b/2" {
			t.Errorf("replaced: %s", got)
		}
		trash, err := w.Trashed(t.Context(), owner, filestore.Page{Limit: 100})
		if err != nil || len(trash) != 4 {
			t.Errorf("%d in the trash, %v", len(trash), err)
		}
		usage, err := w.Usage(t.Context(), owner)
		if err != nil || usage.Files != 2 || usage.TrashFiles != 4 {
			t.Errorf("counted %+v, %v", usage, err)
		}
	})
}

func TestACopyIsAFileOfItsOwn(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		put(t, w, "/a/1", "/a/b/2", "/a/c/")
		if r, err := w.Folders.Copy(t.Context(), owner, folder.Ends{From: "/a", To: "/n/m"}); err != nil || r.Count != 3 {
			t.Fatalf("%+v, %v", r, err)
		}
		if _, err := w.Folders.Trash(t.Context(), owner, "/a", filestore.Once{}); err != nil {
			t.Fatal(err)
		}
		trash, err := w.Trashed(t.Context(), owner, filestore.Page{Limit: 9})
		if err != nil || len(trash) != 2 {
			t.Fatalf("%v, %v", trash, err)
		}
		for _, f := range trash {
			if _, err := w.Purge(t.Context(), owner, filestore.Target{ID: f.ID}); err != nil {
				t.Fatal(err)
			}
		}
		if got := all(t, w); got != "/n/ /n/m/ /n/m/1 /n/m/b/ /n/m/b/2 /n/m/c/" {
			t.Errorf("left are %s", got)
		}
		if _, o, err := w.OpenPath(t.Context(), owner, "/n/m/b/2"); err != nil || o.Size() != int64(len("/a/b/2")) {
			t.Errorf("the copy does not open: %v", err)
		}
		r, err := w.Folders.Copy(t.Context(), owner, folder.Ends{From: "/n/m/1", To: "/n/m/b/2", Onto: folder.Overwrite})
		if err != nil || r.File.Version != 2 || r.Created {
			t.Errorf("a copy over a file is version %d, %v", r.File.Version, err)
		}
		if _, err := w.Folders.Copy(t.Context(), owner, folder.Ends{From: "/n/m/1", To: "/n/m/b/2"}); !fault.Is(err,
			fault.Conflict) {
			t.Errorf("without overwrite: %v", err)
		}
		usage, err := w.Usage(t.Context(), owner)
		if err != nil || usage.Files != 2 || usage.Versions != 3 || usage.TrashFiles != 0 {
			t.Errorf("counted %+v, %v", usage, err)
		}
	})
}

func TestACopyKeepsTheQuota(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t, func(c *filestore.Config) { c.Quota = 10 })
	w.MustPut(t, ns, "/a/1", "123456")
	if _, err := w.Folders.Copy(t.Context(), owner, folder.Ends{From: "/a", To: "/b"}); !fault.Is(err, fault.StorageFull) {
		t.Errorf("%v", err)
	}
	if got := all(t, w); got != "/a/ /a/1" {
		t.Errorf("there are %s", got)
	}
}

// A file and a folder cannot have the same name, by whichever way one comes.
func TestNamesAreOfOneKind(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		put(t, w, "/f", "/d/x", "/e/", "/other")
		trashed := w.MustPut(t, ns, "/g", "g")
		if _, err := w.Trash(t.Context(), owner, filestore.Target{ID: trashed.ID}); err != nil {
			t.Fatal(err)
		}
		put(t, w, "/g/below")
		before := all(t, w)
		store := func(path string) error {
			_, err := w.Put(t.Context(), owner, filestore.Put{
				Path: path, Mode: filestore.Upsert, Body: strings.NewReader("x"), Size: 1,
			})
			return err
		}
		move := func(to string) error {
			_, err := w.Move(t.Context(), owner, filestore.Target{Path: "/other"}, to, true)
			return err
		}
		_, _, made := w.Folders.Make(t.Context(), owner, "/f")
		_, _, madeBelow := w.Folders.Make(t.Context(), owner, "/f/g/h")
		_, restored := w.Restore(t.Context(), owner, filestore.Target{ID: trashed.ID}, "")
		for what, err := range map[string]error{
			"store below a file": store("/f/y"), "store far below a file": store("/f/y/z"), "store at a folder": store("/d"), "store at an empty folder": store("/e"),
			"move below a file": move("/f/y"), "move to a folder": move("/d"), "move to an empty folder": move("/e"),
			"make a folder at a file": made, "make a folder below a file": madeBelow, "restore at a folder": restored,
		} {
			if !fault.Is(err, fault.Conflict) || fault.From(err).Code != "name_taken" {
				t.Errorf("%s: %v", what, err)
			}
		}
		if got := all(t, w); got != before {
			t.Errorf("there are %s, were %s", got, before)
		}
		if err := move("/other/inside"); err != nil { // its own name is not in its way
			t.Errorf("into a folder of its own name: %v", err)
		}
	})
}

// What older releases left is shown and can be renamed.
func TestAFileAndAFolderOfOneNameArePartedByARename(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		put(t, w, "/a/x", "/b")
		err := w.DB.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
			_, err := tx.ExecContext(ctx, `UPDATE filestore_files SET path = '/a' WHERE path = '/b'`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := all(t, w); got != "/a /a/ /a/x" {
			t.Fatalf("shown as %s", got)
		}
		if e, err := w.DAG.Export(t.Context(), owner, "/a"); err != nil || e.Write(io.Discard) != nil {
			t.Errorf("exported: %v", err)
		}
		w.MustPut(t, ns, "/a", "a new version")
		if _, err := w.Move(t.Context(), owner, filestore.Target{Path: "/a"}, "/c", false); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Folders.Move(t.Context(), owner, folder.Ends{From: "/a", To: "/d"}); err != nil {
			t.Fatal(err)
		}
		if got := all(t, w); got != "/c /d/ /d/x" {
			t.Errorf("renamed to %s", got)
		}
	})
}

func TestAnActReachesWhatItsScopeDoes(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		put(t, w, "/a/1", "/a/.h", "/a/.d/", "/a/e/", "/b/1", "/b/.h")
		ctx := t.Context()
		blind := below("/a", filestore.All)
		blind.Grants = append(blind.Grants, below("/b", filestore.Write|filestore.List).Grants...)
		for what, err := range map[string]error{
			"move to where it is read":   second(w.Folders.Move(ctx, blind, folder.Ends{From: "/b/1", To: "/a/2"})),
			"move all to be read":        second(w.Folders.Move(ctx, blind, folder.Ends{From: "/b", To: "/a/b"})),
			"delete without the ability": second(w.Folders.Trash(ctx, below("/a", filestore.Write), "/a", filestore.Once{})),
			"move out of the scope":      second(w.Folders.Move(ctx, below("/a", filestore.All), folder.Ends{From: "/a", To: "/c"})),
			"copy without reading":       second(w.Folders.Copy(ctx, below("/a", filestore.Write), folder.Ends{From: "/a", To: "/a2"})),
			"copy from elsewhere":        second(w.Folders.Copy(ctx, below("/a", filestore.All), folder.Ends{From: "/b", To: "/a/b"})),
			"move from elsewhere":        second(w.Folders.Move(ctx, below("/a", filestore.All), folder.Ends{From: "/b", To: "/a/b"})),
			"replace without deleting": second(w.Folders.Move(ctx, below("/", filestore.Write|filestore.Read),
				folder.Ends{From: "/b", To: "/a", Onto: folder.Replace})),
			"a hidden destination": second(w.Folders.Move(ctx, below("/", filestore.All), folder.Ends{From: "/b", To: "/.c"})),
		} {
			if !fault.Is(err, fault.Forbidden) && !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: %v", what, err)
			}
		}
		r, err := w.Folders.Trash(ctx, below("/a", filestore.All), "/a", filestore.Once{})
		if err != nil || r.Count != 2 {
			t.Errorf("%d deleted, %v", r.Count, err)
		}
		if got := all(t, w); got != "/a/ /a/.d/ /a/.h /b/ /b/.h /b/1" {
			t.Errorf("left are %s", got)
		}
		if _, err := w.Folders.Trash(ctx, below("/a", filestore.All), "/a", filestore.Once{}); !fault.Is(err,
			fault.NotFound) {
			t.Errorf("what is hidden shows: %v", err)
		}
	})
}

func second[T any](_ T, err error) error { return err }

func TestAnActHappensOnce(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		put(t, w, "/a/1", "/a/2")
		once := filestore.Once{Key: "k", Fingerprint: "f"}
		first, err := w.Folders.Copy(t.Context(), owner, folder.Ends{From: "/a", To: "/b", Once: once})
		if err != nil {
			t.Fatal(err)
		}
		again, err := w.Folders.Copy(t.Context(), owner, folder.Ends{From: "/a", To: "/b", Once: once})
		if err != nil || !again.Replayed || again.Count != first.Count {
			t.Errorf("%+v, %v", again, err)
		}
		once.Fingerprint = "g"
		if _, err := w.Folders.Trash(t.Context(), owner, "/a", once); fault.From(err).Code != "key_reused" {
			t.Errorf("another act under the key: %v", err)
		}
	})
}

// failing is an outbox that cannot take the report of one change, so that a
// transaction fails in its middle.
type failing struct{ left int }

func (f *failing) EmitIn(context.Context, sqldb.Querier, string, string, time.Time, any) error {
	if f.left--; f.left < 0 {
		return errors.New("no room")
	}
	return nil
}

func TestAnActIsAllOrNothing(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		var paths []string
		for i := range 450 { // more than one statement
			paths = append(paths, fmt.Sprintf("/a/%03d", i))
		}
		put(t, w, paths...)
		put(t, w, "/a/e/", "/b/010")
		before := all(t, w)
		for left := range 3 {
			broken := folder.New(w.Service, filestoresql.New(w.DB).WithOutbox(&failing{left: left * 200}))
			for what, err := range map[string]error{
				"trash":   second(broken.Trash(t.Context(), owner, "/a", filestore.Once{})),
				"move":    second(broken.Move(t.Context(), owner, folder.Ends{From: "/a", To: "/c"})),
				"replace": second(broken.Move(t.Context(), owner, folder.Ends{From: "/a", To: "/b", Onto: folder.Replace})),
				"copy":    second(broken.Copy(t.Context(), owner, folder.Ends{From: "/a", To: "/c"})),
			} {
				if err == nil {
					t.Errorf("%s did not fail", what)
				}
			}
			if got := all(t, w); got != before {
				t.Fatal("an act that failed left something")
			}
		}
		usage, err := w.Usage(t.Context(), owner)
		if err != nil || usage.Files != 451 || usage.TrashFiles != 0 {
			t.Errorf("counted %+v, %v", usage, err)
		}
	})
}
