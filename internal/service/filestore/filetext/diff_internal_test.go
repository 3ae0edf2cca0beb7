package filetext

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
	context.Context // it is one
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

func TestADiffEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	var a, b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&a, "a %d\n", i)
		fmt.Fprintf(&b, "b %d\n", i)
	}
	ctx := &ending{Context: t.Context(), left: 10}
	if text, err := unifiedDiff(ctx, "/f", a.String(), b.String()); !errors.Is(err, context.Canceled) || text != "" ||
		ctx.after > 1 {
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

func TestUnifiedDiff(t *testing.T) {
	t.Parallel()
	a := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	b := "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n"
	want := "--- /f\n+++ /f\n@@ -2,9 +2,10 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n 9\n 10\n+11\n"
	if got, _ := unifiedDiff(context.Background(), "/f", a, b); got != want {
		t.Errorf("got:\n%s", got)
	}
	if got, _ := unifiedDiff(context.Background(), "/f", a, a); got != "" {
		t.Errorf("equal texts: %q", got)
	}
}
