package filestore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/blob/blobtest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
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
		if _, err := w.Grep(t.Context(), owner, filestore.GrepQuery{Term: expr, Regexp: true, Limit: 10}); !fault.Is(err, fault.Invalid) || !strings.Contains(fault.From(err).Message, "too large") {
			t.Errorf("%.40s: %v", expr, err)
		}
	}
	for _, c := range []struct {
		q       filestore.GrepQuery
		matches int
		cut     string
	}{
		{filestore.GrepQuery{Term: "(a?){150}b", Regexp: true}, 1, "the search ended at /a.txt because the pattern is costly for so much text"},
		{filestore.GrepQuery{Term: "find b+", Regexp: true}, 2, ""},
		{filestore.GrepQuery{Term: "FIND", IgnoreCase: true}, 2, ""},
		{filestore.GrepQuery{Term: "find"}, 2, ""},
		{filestore.GrepQuery{Term: "find", Limit: 1}, 1, "the search ended at /a.txt because 1 files match"},
	} {
		if c.q.Limit == 0 {
			c.q.Limit = 10
		}
		got, err := w.Grep(t.Context(), owner, c.q)
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
	got, err := w.Grep(t.Context(), filestore.Owner(asker), filestore.GrepQuery{Term: "b", Limit: 10})
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
	files, cut, err := w.Glob(t.Context(), owner, strings.Repeat("*?", 250)+"x", filestore.Page{Limit: 100})
	if err != nil || len(files) != 0 || !strings.HasPrefix(cut, "the scan ended at /言") || !strings.HasSuffix(cut, "the pattern is costly for so many paths") {
		t.Errorf("%d files, cut %q, %v", len(files), cut, err)
	}
	// The first look is before the query, the others before a path each.
	ctx := &looks{Context: t.Context()}
	ctx.left.Store(20)
	if _, _, err := w.Glob(ctx, owner, "/**x", filestore.Page{Limit: 100}); !errors.Is(err, context.Canceled) || ctx.after.Load() > 1 {
		t.Errorf("%d units after the end, %v", ctx.after.Load(), err)
	}
	if files, cut, err := w.Glob(t.Context(), owner, "/*7", filestore.Page{Limit: 100}); err != nil || len(files) != 20 || cut != "" {
		t.Errorf("%d files, cut %q, %v", len(files), cut, err)
	}
}

// looks is a context that ends when it is looked at often enough, and counts the
// looks after that.
type looks struct {
	context.Context //nolint:containedctx // it is one
	left, after     atomic.Int64
}

func (l *looks) Err() error {
	if l.left.Add(-1) > 0 {
		return nil
	}
	l.after.Add(1)
	return context.Canceled
}

func TestSearchSaysWhatItLeftOut(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	var words []string
	for i := range 20 {
		words = append(words, fmt.Sprintf("word%d", i))
	}
	filler := strings.Repeat(strings.Repeat("x ", 500)+"\n", 3<<10)
	for i := range 14 {
		w.MustPut(t, asker, fmt.Sprintf("/%02d.txt", i), filler+strings.Join(words, " ")+"\n")
	}
	w.Index(context.Background(), t)
	got, err := w.Search(t.Context(), filestore.Owner(asker), strings.Join(words, " "), "", 50)
	want := "only the first 16 words were looked for; lines are shown for the first 10 files only"
	if err != nil || len(got.Hits) != 14 || strings.Join(got.Cut, "; ") != want {
		t.Fatalf("%d hits, cut %q, %v", len(got.Hits), got.Cut, err)
	}
	if got.Hits[0].Preview == "" || got.Hits[13].Preview != "" {
		t.Errorf("previews %q and %q", got.Hits[0].Preview, got.Hits[13].Preview)
	}
}

// What reads content stops within a segment of it once the request has ended,
// also where the object store does not look.
func TestReadingEndsWithTheRequest(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		text := strings.Repeat(strings.Repeat("a", 99)+"\n", 40_000)
		w.MustPut(t, asker, "/f.txt", text+"b\n")
		w.MustPut(t, asker, "/f.txt", text+"cherry\n")
		owner := filestore.Owner(asker)
		w.Index(context.Background(), t)
		for name, do := range map[string]func(context.Context) error{
			"grep": func(ctx context.Context) error {
				_, err := w.Grep(ctx, owner, filestore.GrepQuery{Term: "b", Limit: 10})
				return err
			},
			"lines": func(ctx context.Context) error {
				_, err := w.ReadPathLines(ctx, owner, "/f.txt", filestore.Window{})
				return err
			},
			"diff": func(ctx context.Context) error {
				_, _, err := w.Diff(ctx, owner, "/f.txt", 0, 0)
				return err
			},
			"edit": func(ctx context.Context) error {
				_, err := w.Edit(ctx, owner, filestore.Edit{Path: "/f.txt", Old: "zz", New: "y"})
				return err
			},
			"append": func(ctx context.Context) error {
				_, err := w.Append(ctx, owner, filestore.Append{Path: "/f.txt", Text: "d"})
				return err
			},
			"search": func(ctx context.Context) error {
				_, err := w.Search(ctx, owner, "cherry", "", 10)
				return err
			},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			var reads atomic.Int64
			plan := blobtest.Healthy()
			const at = 5
			plan.Reading = func(context.Context) {
				if reads.Add(1) == at {
					cancel()
				}
			}
			w.Blobs.Set(plan)
			err := do(ctx)
			w.Blobs.Set(blobtest.Healthy())
			cancel()
			if n := reads.Load(); n > at+1 || n < at || err == nil {
				t.Errorf("%s: %d reads, %d after the end; %v", name, n, n-at, err)
			}
		}
	})
}
