package filestore_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/internal/service/filestore/folder"
)

// delegate may do everything below /a, and sees no dot-files.
var delegate = filestore.Access{
	Namespace: ns, Invoker: "did:key:zDelegate", Actor: ns,
	Grants: []filestore.Grant{{Abilities: filestore.All, Area: vfspath.Area{Root: "/a"}}},
}

// How rare a word is counts for the score. What lies out of reach must not: whoever
// may write one file could ask for any word whether others have it.
func TestScoreTellsNothingOfWhatIsOutOfReach(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		score := func() float64 {
			t.Helper()
			w.Index(t.Context(), t)
			r, err := w.Find.Search(t.Context(), delegate, "merger", "/", 10)
			if err != nil || len(r.Hits) == 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			return r.Hits[0].Score
		}
		w.MustPut(t, ns, "/a/probe", "merger\n")
		alone := score()
		for _, path := range []string{"/b", "/ab", "/a/.hidden", "/.a"} {
			w.MustPut(t, ns, path, "merger\n")
			if got := score(); got != alone {
				t.Errorf("the score is %v instead of %v since %s has the word", got, alone, path)
			}
		}
		w.MustPut(t, ns, "/a/other", "merger\n")
		if got := score(); got >= alone {
			t.Errorf("a word that a second file has scores %v, one that no other has %v", got, alone)
		}
	})
}

// Whatever a path may be made of, its file is listed, found and moved like others.
func TestEveryPathIsListed(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		names := []string{"a", "z", "\u00ff", "\ud7ff", "\ue000", "\uffff", "\U0010ffff", "\U0010ffff\U0010ffff"}
		for _, name := range names {
			w.MustPut(t, ns, "/d/"+name, name)
			w.MustPut(t, ns, "/"+name+"/below", name)
		}
		nodes, _, err := w.Folders.Tree(t.Context(), owner, "/d", "")
		if err != nil || len(nodes) != len(names) {
			t.Errorf("the folder has %d entries of %d, %v", len(nodes), len(names), err)
		}
		found, _, err := w.Find.Glob(t.Context(), owner, "/d/*", filestore.Page{Limit: 100})
		if err != nil || len(found) != len(names) {
			t.Errorf("a glob finds %d of %d, %v", len(found), len(names), err)
		}
		for _, name := range names {
			if files, err := w.List(t.Context(), owner, "/"+name+"/", filestore.Page{Limit: 10}); err != nil || len(files) != 1 {
				t.Errorf("below %q are %d files, %v", name, len(files), err)
			}
		}
		if r, err := w.Folders.Move(t.Context(), owner, folder.Ends{From: "/d", To: "/e"}); err != nil || r.Count != len(names) {
			t.Errorf("%d of %d moved, %v", r.Count, len(names), err)
		}
	})
}
