package search

import (
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/service/filestore/filename"
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
		path, err = filename.CleanPath(path)
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

// What is cut is all there, in order, and says its line.
func FuzzCut(f *testing.F) {
	f.Add("one\n\ntwo\nthree")
	f.Add(strings.Repeat("long ", 3000) + "\n" + strings.Repeat("x", 9000))
	f.Add(strings.Repeat("言", 4000))
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?")
		var c cutter
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			c.add(i+1, line)
		}
		squash := func(s string) string { return strings.Join(strings.Fields(s), "") }
		var all strings.Builder
		for _, p := range c.end() {
			if len(p.text) > textindex.MaxText || p.line < 1 || p.line > len(lines) {
				t.Fatalf("a piece of %d bytes at line %d of %d", len(p.text), p.line, len(lines))
			}
			if first, _, _ := strings.Cut(p.text, "\n"); !strings.Contains(lines[p.line-1], first) {
				t.Fatalf("%q is not in line %d", first, p.line)
			}
			all.WriteString(p.text)
		}
		if squash(all.String()) != squash(text) {
			t.Fatal("something was lost")
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
