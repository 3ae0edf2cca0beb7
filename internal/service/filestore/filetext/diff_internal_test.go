package filetext

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
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

// TestADiffCostsWhatDiffers counts what is allocated: the lines of a large text that are
// alike cost nothing, and too many that are not are refused before they are lines.
func TestADiffCostsWhatDiffers(t *testing.T) {
	const room = 4 << 20 // for which there are a million lines and more
	ends, long, words := strings.Repeat("\n", maxEdit), strings.Repeat("x", maxEdit/8), strings.Repeat("a ", maxEdit/8)
	first, second := ends[:maxEdit/2]+"a\n"+ends[:maxEdit/2], ends[:maxEdit/2]+"b\n"+ends[:maxEdit/2]
	other := "a" + ends[1:maxEdit/2] + "b" + ends[1:maxEdit/2]
	for _, c := range []struct {
		what    string
		do      func() (string, error)
		want    string
		refused bool
	}{
		{
			"one line of many", func() (string, error) { return unifiedDiff(t.Context(), "/f", first, second) },
			fmt.Sprintf("--- /f\n+++ /f\n@@ -%d,7 +%[1]d,7 @@\n \n \n \n-a\n+b\n \n \n \n", maxEdit/2-2), false,
		},
		{"everything", func() (string, error) { return unifiedDiff(t.Context(), "/f", ends, other) }, "", true},
		{"one long line", func() (string, error) {
			text, err := unifiedDiff(t.Context(), "/f", "", long)
			return text[max(len(text)-20, 0):], err
		}, "xxxxxx…\n… (cut)\n", false},
		{"a near miss", func() (string, error) { return nearMiss(words, "b"), nil }, "", false},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		text, err := c.do()
		runtime.ReadMemStats(&after)
		if errors.Is(err, errTooDifferent) != c.refused || !c.refused && err != nil || text != c.want {
			t.Errorf("%s: %v, %.300q", c.what, err, text)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > room {
			t.Errorf("%s: %d MiB allocated", c.what, used>>20)
		}
	}
}

// TestADiffLeadsFromOneToTheOther applies differences of many small texts.
func TestADiffLeadsFromOneToTheOther(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var s strings.Builder
		for range r.IntN(24) {
			s.WriteString([]string{"a\n", "b\n", "\n", "a\n", "ab\n"}[r.IntN(5)])
		}
		return s.String()
	}
	for range 3000 {
		a, b := text(), text()
		if r.IntN(2) == 0 {
			b = a[:r.IntN(len(a)+1)] + b
			b = strings.TrimSuffix(b, "\n") + "\n" + a[r.IntN(len(a)+1):]
		}
		diff, err := unifiedDiff(t.Context(), "/f", a, b)
		if got := applied(t, a, diff); err != nil || strings.TrimSuffix(got, "\n") != strings.TrimSuffix(b, "\n") {
			t.Fatalf("%v: %q to %q made %q by\n%s", err, a, b, got, diff)
		}
	}
}

func applied(t *testing.T, a, diff string) string {
	t.Helper()
	old, at := splitLines(a), 0
	var out strings.Builder
	hunks := strings.SplitAfter(diff, "\n")
	for _, line := range hunks[min(2, len(hunks)):] {
		if line == "" {
			continue
		}
		switch rest := line[1:]; line[0] {
		case '@':
			var from, n, to, m int
			if _, err := fmt.Sscanf(line, "@@ -%d,%d +%d,%d @@", &from, &n, &to, &m); err != nil {
				t.Fatal(err)
			}
			for ; at < from-1; at++ {
				out.WriteString(old[at])
			}
			if made := linesIn(out.String()); made != to-1 {
				t.Errorf("%q: the hunk begins at line %d", line, made+1)
			}
		case '+':
			out.WriteString(rest)
		default:
			if at >= len(old) || strings.TrimSuffix(old[at], "\n") != strings.TrimSuffix(rest, "\n") {
				t.Fatalf("%q is not line %d of %q", line, at+1, a)
			}
			if at++; line[0] == ' ' {
				out.WriteString(rest)
			}
		}
	}
	for ; at < len(old); at++ {
		out.WriteString(old[at])
	}
	return out.String()
}
