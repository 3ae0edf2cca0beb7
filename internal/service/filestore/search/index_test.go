package search_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/internal/service/filestore/search"
)

// found are the paths that a search finds, best first.
func found(t *testing.T, find *search.Service, a filestore.Access, q string) []string {
	t.Helper()
	r, err := find.Search(t.Context(), a, q, "/", 20)
	if err != nil {
		t.Fatalf("%q: %v", q, err)
	}
	var out []string
	for _, h := range r.Hits {
		out = append(out, h.File.Path)
	}
	return out
}

func want(t *testing.T, q string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%q finds %q, want %q", q, got, want)
	}
}

func TestSearchFindsPartsFormsAndMistakes(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		w.MustPut(t, asker, "/minutes/march.md", "# Minutes\n\nThe committee decided to repair the water pumps.\n")
		w.MustPut(t, asker, "/clinic.txt", "The clinic opens at eight.\n")
		w.MustPut(t, asker, "/Brunnenordnung.txt", "Der Brunnen wird um sechs Uhr aufgeschlossen.\n")
		w.Index(context.Background(), t)
		owner := filestore.Owner(asker)
		for q, path := range map[string]string{
			"commit": "/minutes/march.md", "pump repair": "/minutes/march.md", "comittee": "/minutes/march.md", //nolint:misspell // it is meant to be
			"march": "/minutes/march.md", "mar pum": "/minutes/march.md", "clini": "/clinic.txt", "nenordn": "/Brunnenordnung.txt",
		} {
			want(t, q, found(t, w.Find, owner, q), path)
		}
		want(t, "clinic pump", found(t, w.Find, owner, "clinic pump"))
	})
}

// Nobody is shown, counted or hinted a file that they may not read, as it is now.
func TestSearchKnowsWhatTheScopeHas(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		w.MustPut(t, asker, "/open/a.txt", "the harvest was good\n")
		w.MustPut(t, asker, "/open/b.txt", "pears and plums\n")
		w.Index(context.Background(), t)
		narrow := filestore.Access{
			Namespace: asker,
			Grants:    []filestore.Grant{{Abilities: filestore.Read | filestore.List, Area: vfspath.Area{Root: "/open"}}},
		}
		alone, err := w.Find.Search(t.Context(), narrow, "harvest", "/", 10)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 30 {
			w.MustPut(t, asker, fmt.Sprintf("/secret/%d.txt", i), "the harvest of the secret merger\n")
		}
		w.MustPut(t, asker, "/open/.dot", "the harvest of a dot-file\n")
		w.Index(context.Background(), t)
		beside, err := w.Find.Search(t.Context(), narrow, "harvest", "/", 10)
		if err != nil || len(beside.Hits) != 1 || beside.Hits[0].Score != alone.Hits[0].Score {
			t.Errorf("alone %+v, beside others %+v, %v", alone.Hits, beside.Hits, err)
		}
		for _, q := range []string{"merger", "mergr", "merg", "secret", "erge"} {
			want(t, q, found(t, w.Find, narrow, q))
		}
		// What was moved out of the scope, or has other words now, is not found any more, also before the index has read it.
		if _, err := w.Move(t.Context(), filestore.Owner(asker), filestore.Target{Path: "/open/a.txt"}, "/secret/a.txt", false); err != nil {
			t.Fatal(err)
		}
		want(t, "harvest", found(t, w.Find, narrow, "harvest"))
		w.MustPut(t, asker, "/open/b.txt", "other words\n")
		want(t, "plums", found(t, w.Find, narrow, "plums"))
	})
}

// What was purged is not found from then on, and a minute later it is in no segment.
func TestPurgedTextIsDestroyed(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		owner := filestore.Owner(asker)
		w.MustPut(t, asker, "/keep.txt", "harvest of apples\n")
		w.MustPut(t, asker, "/drop.txt", "harvest of pears\n")
		w.Index(context.Background(), t)
		if _, err := w.Trash(t.Context(), owner, filestore.Target{Path: "/drop.txt"}); err != nil {
			t.Fatal(err)
		}
		want(t, "harvest", found(t, w.Find, owner, "harvest"), "/keep.txt")
		trashed, err := w.Store.Trash(t.Context(), filestore.Scope{Namespace: asker, Areas: []vfspath.Area{vfspath.Whole()}},
			10, 0)
		if err != nil || len(trashed) != 1 {
			t.Fatalf("%v, %v", trashed, err)
		}
		if _, err := w.Purge(t.Context(), owner, filestore.Target{ID: trashed[0].ID}); err != nil {
			t.Fatal(err)
		}
		before := segments(t, w)
		if open := w.Find.Opened(asker); !slices.Equal(open, before) {
			t.Errorf("segments %q, open are %q", before, open)
		}
		w.Clock.Add(2 * time.Minute)
		if err := w.Find.TidyOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		after := segments(t, w)
		if open := w.Find.Opened(asker); len(open) != 0 {
			t.Errorf("segments that are dead are open: %q", open)
		}
		if len(before) != 1 || len(after) != 1 || before[0] == after[0] {
			t.Errorf("segments %q, then %q", before, after)
		}
		var keys int
		err = w.DB.Read().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM filestore_text_segments WHERE dead_ms > 0 AND (length(wrapped_key) > 0 OR inline IS NOT NULL)`).Scan(&keys)
		if err != nil || keys != 0 {
			t.Errorf("%d dead segments can be opened, %v", keys, err)
		}
		want(t, "harvest", found(t, w.Find, owner, "harvest"), "/keep.txt")
		w.Clock.Add(2 * time.Hour)
		if err := w.Find.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// The index of a namespace in which nothing is left is destroyed at once, and one that has
// files stays as it is.
func TestTheIndexOfNothingIsDestroyed(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		owner, ctx := filestore.Owner(asker), t.Context()
		f := w.MustPut(t, asker, "/drop.txt", "harvest of pears\n")
		w.Index(ctx, t)
		for _, step := range []func() error{
			func() error { return nil },
			func() error { _, err := w.Trash(ctx, owner, filestore.Target{ID: f.ID}); return err },
		} {
			if err := step(); err != nil {
				t.Fatal(err)
			}
			if had, err := w.Store.DestroyIndex(ctx, asker, w.Clock.Now()); err != nil || had || len(segments(t, w)) == 0 {
				t.Errorf("an index of files was destroyed: %t, %v", had, err)
			}
		}
		if _, err := w.Purge(ctx, owner, filestore.Target{ID: f.ID}); err != nil {
			t.Fatal(err)
		}
		if left := segments(t, w); len(left) == 0 {
			t.Error("it was destroyed before")
		}
		if had, err := w.Store.DestroyIndex(ctx, asker, w.Clock.Now()); err != nil || !had || len(segments(t, w)) != 0 {
			t.Errorf("left are %q: %t, %v", segments(t, w), had, err)
		}
		if had, err := w.Store.DestroyIndex(ctx, asker, w.Clock.Now()); err != nil || had {
			t.Errorf("again: %t, %v", had, err)
		}
		w.MustPut(t, asker, "/new.txt", "harvest of plums\n") // they may come back
		w.Index(ctx, t)
		want(t, "harvest", found(t, w.Find, owner, "harvest"), "/new.txt")
	})
}

// segments are those of the asker.
func segments(t *testing.T, w *filestoretest.World) (ids []string) {
	t.Helper()
	_, _, all, err := w.Store.IndexedFiles(t.Context(),
		filestore.Scope{Namespace: asker, Areas: []vfspath.Area{vfspath.Whole()}}, "/")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range all {
		ids = append(ids, g.ID)
	}
	return ids
}

// What has changes to read, or text to destroy, is listed in order, page by page.
func TestIndexesAreListedInOrder(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		all := []string{"did:key:zA", "did:key:zB", "did:key:zC"}
		for _, ns := range all {
			w.MustPut(t, ns, "/a.txt", "apples\n")
		}
		var behind, dirty []string
		for after := ""; ; after = behind[len(behind)-1] {
			page, err := w.Store.IndexBehind(t.Context(), after, 1)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			behind = append(behind, page[0].Namespace)
		}
		w.Index(context.Background(), t)
		for _, ns := range all {
			w.MustPut(t, ns, "/a.txt", "pears\n")
		}
		w.Index(context.Background(), t)
		for after := ""; ; after = dirty[len(dirty)-1] {
			page, err := w.Store.IndexShelf().Dirty(t.Context(), 100, []int64{1 << 20}, w.Clock.Now().Add(time.Minute), after, 2)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			dirty = append(dirty, page...)
		}
		if !slices.Equal(behind, all) || !slices.Equal(dirty, all) {
			t.Errorf("behind are %q, and dirty %q", behind, dirty)
		}
	})
}

// Many segments become few, small or large, on any node, and answer as before.
func TestSegmentsOfFilesAreJoined(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		for i := range 4 {
			for n := range 3 {
				w.MustPut(t, asker, fmt.Sprintf("/%d-%d.txt", i, n),
					fmt.Sprintf("harvest number%d\n", i)+strings.Repeat(fmt.Sprintf("filler%d some%d more%d\n", n*i, n, i), 2000))
			}
			w.Index(context.Background(), t)
		}
		other := search.New(w.Node())
		before := found(t, other, filestore.Owner(asker), "harvest")
		if n := len(segments(t, w)); n != 4 {
			t.Fatalf("%d segments", n)
		}
		if err := w.Find.TidyOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(segments(t, w)); n != 1 {
			t.Errorf("%d segments", n)
		}
		want(t, "harvest", found(t, other, filestore.Owner(asker), "harvest"), before...)
		want(t, "number2 harvest", found(t, other, filestore.Owner(asker), "number2 2-1"), "/2-1.txt")
	})
}
