package filestore

import (
	"context"
	"strings"
	"testing"
)

func FuzzGlob(f *testing.F) {
	f.Add("/**/*.md", "/a/b.md")
	f.Add("/a?c", "/abc")
	f.Add("***?**", "/x")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		g, err := compileGlob(pattern)
		if err != nil {
			return
		}
		path, err = CleanPath(path)
		if err != nil {
			return
		}
		if g.match(path) && !strings.HasPrefix(path, g.literal) {
			t.Fatalf("%q matches %q, which its prefix %q excludes", pattern, path, g.literal)
		}
		if !strings.ContainsAny(g.pattern, "*?") && g.match(path) != (g.pattern == path) {
			t.Fatalf("%q without wildcards matches %q", pattern, path)
		}
	})
}

func FuzzLinesRoundTrip(f *testing.F) {
	f.Add([]byte{1, 2, 3})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		for i, n := range unpackLines(b) {
			if n < 0 {
				t.Fatalf("line %d is %d", i, n)
			}
		}
	})
}

func TestGlobMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"/*", "/a", true},
		{"/*", "/a/b", false},
		{"/**", "/a/b", true},
		{"/**/b", "/b", true},
		{"/**/b", "/a/x/b", true},
		{"/**/b", "/ab", false},
		{"/a/**/b", "/a/b", true},
		{"/a/**/b", "/axb", false},
		{"/a?", "/aé", true},
		{"/a?", "/a/", false},
		{"/*.md", "/x.md", true},
		{"/*.md", "/x.mdx", false},
		{"*.md", "/x.md", true},
		{"/a*b*c", "/aXbYc", true},
		{"/a*b*c", "/aXc", false},
	} {
		g, err := compileGlob(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.match(c.path); got != c.want {
			t.Errorf("%q on %q: %v, want %v", c.pattern, c.path, got, c.want)
		}
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
