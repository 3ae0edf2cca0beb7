package search_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/pace/pacetest"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/internal/service/filestore/search"
)

const asker = "did:key:zAsker"

func TestGrepHasABudgetAndSaysWhereItEnded(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	line := strings.Repeat("a", 199) + "\n"
	w.MustPut(t, asker, "/a.txt", "find b\n"+strings.Repeat(line, 5000))
	w.MustPut(t, asker, "/b.txt", "find b\n")
	owner := filestore.Owner(asker)
	for _, expr := range []string{"(a?){480}(a?){480}b", strings.Repeat(".{1000}", 70)} {
		if _, err := w.Find.Grep(t.Context(), owner, search.GrepQuery{Term: expr, Regexp: true, Limit: 10}); !fault.Is(err,
			fault.Invalid) || !strings.Contains(fault.From(err).Message, "too large") {
			t.Errorf("%.40s: %v", expr, err)
		}
	}
	for _, c := range []struct {
		q       search.GrepQuery
		matches int
		cut     string
	}{
		{search.GrepQuery{Term: "(a?){150}b", Regexp: true}, 1, "the search ended at /a.txt because the pattern is costly for so much text"},
		{search.GrepQuery{Term: "find b+", Regexp: true}, 2, ""},
		{search.GrepQuery{Term: "FIND", IgnoreCase: true}, 2, ""},
		{search.GrepQuery{Term: "find"}, 2, ""},
		{search.GrepQuery{Term: "find", Limit: 1}, 1, "the search ended at /a.txt because 1 files match"},
	} {
		if c.q.Limit == 0 {
			c.q.Limit = 10
		}
		got, err := w.Find.Grep(t.Context(), owner, c.q)
		if err != nil || len(got.Matches) != c.matches || strings.Join(got.Cut, "; ") != c.cut {
			t.Errorf("%+v: %d matches, cut %q, %v", c.q, len(got.Matches), got.Cut, err)
		}
	}
}

func TestGrepSaysWhatItDidNotRead(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	w.MustPut(t, asker, "/large.txt", strings.Repeat(strings.Repeat("a", 1023)+"\n", 33<<10))
	w.MustPut(t, asker, "/long.txt", strings.Repeat("a", 70<<10)+"b\n")
	got, err := w.Find.Grep(t.Context(), filestore.Owner(asker), search.GrepQuery{Term: "b", Limit: 10})
	want := "1 file(s) of more than 32 MiB were left out; lines of more than 64 KiB were searched at their beginning only"
	if err != nil || len(got.Matches) != 0 || strings.Join(got.Cut, "; ") != want {
		t.Errorf("%d matches, cut %q, %v", len(got.Matches), got.Cut, err)
	}
}

func TestGlobHasABudgetAndSaysWhereItEnded(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	long := strings.Repeat("言", 1000)
	for i := range 200 {
		w.MustPut(t, asker, fmt.Sprintf("/%s%03d", long, i), "")
	}
	owner := filestore.Owner(asker)
	files, cut, err := w.Find.Glob(t.Context(), owner, strings.Repeat("*?", 250)+"x", filestore.Page{Limit: 100})
	if err != nil || len(files) != 0 || !strings.HasPrefix(cut, "the scan ended at /言") || !strings.HasSuffix(cut, "the pattern is costly for so many paths") {
		t.Errorf("%d files, cut %q, %v", len(files), cut, err)
	}
	// The first looks are before the query, the others before a path each. After the
	// end there is one look of ours, and one of the watcher of the query's rows,
	// which may come as late as it likes.
	ctx := &pacetest.Looks{Context: t.Context()}
	ctx.Left.Store(20)
	if _, _, err := w.Find.Glob(ctx, owner, "/**x", filestore.Page{Limit: 100}); !errors.Is(err, context.Canceled) ||
		ctx.After.Load() > 2 {
		t.Errorf("%d looks after the end, %v", ctx.After.Load(), err)
	}
	if files, cut, err := w.Find.Glob(t.Context(), owner, "/*7", filestore.Page{Limit: 100}); err != nil ||
		len(files) != 20 || cut != "" {
		t.Errorf("%d files, cut %q, %v", len(files), cut, err)
	}
}

func TestSearchSaysWhatItLeftOut(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	var words []string
	for i := range 30 {
		words = append(words, fmt.Sprintf("word%d", i))
	}
	w.MustPut(t, asker, "/f.txt", strings.Join(words[:25], " ")+"\n")
	w.Index(context.Background(), t)
	for n, want := range map[int]string{20: "", 30: "only the first 24 words were looked for"} {
		got, err := w.Find.Search(t.Context(), filestore.Owner(asker), strings.Join(words[:n], " "), "", 50)
		if err != nil || len(got.Hits) != 1 || strings.Join(got.Cut, "; ") != want || got.Hits[0].Preview == "" {
			t.Errorf("%d words: %+v, cut %q, %v", n, got.Hits, got.Cut, err)
		}
	}
}
