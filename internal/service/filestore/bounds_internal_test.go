package filestore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// ending is a context that ends when it is looked at for the nth time. It counts
// the looks after that: every unit of work begins with one.
type ending struct {
	context.Context //nolint:containedctx // it is one
	left            int
	after           int
}

func (e *ending) Err() error {
	if e.left--; e.left > 0 {
		return nil
	}
	e.after++
	return context.Canceled
}

func TestABudgetIsSpentInUnitsAndEndsWithTheRequest(t *testing.T) {
	t.Parallel()
	b := budget{10}
	ctx := t.Context()
	if err := errors.Join(b.spend(ctx, 6), b.spend(ctx, 4)); err != nil {
		t.Fatal(err)
	}
	if err := b.spend(ctx, 1); !errors.Is(err, errSpent) {
		t.Errorf("beyond the budget: %v", err)
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	if err := b.spend(over, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("after the request: %v", err)
	}
}

func TestADiffEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	var a, b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&a, "a %d\n", i)
		fmt.Fprintf(&b, "b %d\n", i)
	}
	ctx := &ending{Context: t.Context(), left: 10}
	if text, err := unifiedDiff(ctx, "/f", a.String(), b.String()); !errors.Is(err, context.Canceled) || text != "" || ctx.after > 1 {
		t.Errorf("%d units after the end, %v, %.40q", ctx.after, err, text)
	}
}

func TestADiffSaysWhatItDidNotCompare(t *testing.T) {
	t.Parallel()
	text, err := unifiedDiff(t.Context(), "/f", strings.Repeat("a\n", 3000)+"z\n", strings.Repeat("b\n", 3000)+"y\n")
	if err != nil || !strings.Contains(text, "too different to be compared line by line") || len(text) > maxDiff+200 {
		t.Errorf("%v, %d bytes ending %q", err, len(text), text[max(len(text)-200, 0):])
	}
	text, err = unifiedDiff(t.Context(), "/f", "", strings.Repeat("é", maxDiff))
	if err != nil || !strings.HasSuffix(text, "…\n… (cut)\n") || strings.ContainsRune(text, '\uFFFD') {
		t.Errorf("%v, ends %q", err, text[max(len(text)-20, 0):])
	}
}

// Few files with long paths have many folders: an export counts them first.
func TestFoldersAreCountedOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		before, path string
		want         int
	}{{"", "/a/b", 2}, {"/a/b", "/a/c", 0}, {"/a/b", "/a/b/c/d", 2}, {"/a/bb/x", "/a/bc/x", 1}} {
		if got := newFolders(c.before, c.path); got != c.want {
			t.Errorf("%s after %s: %d, want %d", c.path, c.before, got, c.want)
		}
	}
}
