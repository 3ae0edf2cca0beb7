package filestore_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// delegate may do everything below /a, and sees no dot-files.
var delegate = filestore.Access{
	Namespace: ns, Invoker: "did:key:zDelegate", Actor: ns,
	Grants: []filestore.Grant{{Abilities: filestore.All, Root: "/a"}},
}

// How rare a word is counts for the score. What lies out of reach must not: whoever
// may write one file could ask for any word whether others have it.
func TestScoreTellsNothingOfWhatIsOutOfReach(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		score := func() float64 {
			t.Helper()
			w.Index(t.Context(), t)
			r, err := w.Search(t.Context(), delegate, "merger", "/", 10)
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
