package vfspath_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/castalia-org/castalia/internal/protocol/vfspath"
)

// A path is stored in one form: what a keyboard composes otherwise becomes the
// same, and what could be a trick is refused.
func TestPathHasOneSpelling(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		path := "/" + rapid.StringOfN(rapid.RuneFrom([]rune("aZé\u0301Åẛ\u0323 .-_/%\\")), 1, 20, -1).Draw(t, "path")
		clean, err := vfspath.Clean(path)
		if err != nil {
			return
		}
		for _, form := range []norm.Form{norm.NFC, norm.NFD} {
			if same, err := vfspath.Clean(form.String(path)); err != nil || same != clean {
				t.Fatalf("%q is %q, and in another form %q, %v", path, clean, same, err)
			}
		}
		for _, other := range []string{
			clean[1:], "/" + clean, clean + "/", clean + "/.", clean + "/x/..", "/." + clean,
			clean + "\x00", clean + "\u202e", "\ufeff" + clean,
		} {
			if got, err := vfspath.Clean(other); err == nil {
				t.Fatalf("%q is read as %q", other, got)
			}
		}
	})
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"/a", "/a/../b", "/é", "/e\u0301", "//", "/\u202e", "/.x", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		clean, err := vfspath.Clean(path)
		if err != nil {
			return
		}
		again, err := vfspath.Clean(clean)
		if err != nil || again != clean {
			t.Fatalf("%q: cleaning again gives %q, %v", path, again, err)
		}
		if !utf8.ValidString(clean) || strings.Contains(clean, "//") || strings.Contains(clean+"/", "/../") ||
			strings.Contains(clean+"/", "/./") || clean == "/" {
			t.Fatalf("%q came out as %q", path, clean)
		}
		if folder, err := vfspath.CleanFolder(path + "/"); err != nil || folder != clean {
			t.Fatalf("%q is the folder %q, %v", path, folder, err)
		}
	})
}

// segments cuts a clean path into what containment goes by.
func segments(path string) []string {
	if path == "/" {
		return nil
	}
	return strings.Split(path[1:], "/")
}

// contains says by segments what Root.Contains says by text.
func contains(root vfspath.Root, path string) bool {
	if root == "" {
		return false
	}
	folder, below := strings.CutSuffix(string(root), "/")
	if folder == "" {
		return true
	}
	have, want := segments(path), segments(folder)
	if below && len(have) == len(want) {
		return false
	}
	return len(have) >= len(want) && slices.Equal(have[:len(want)], want)
}

func FuzzContains(f *testing.F) {
	for _, s := range [][2]string{
		{"/a", "/a/b"},
		{"/a/", "/a"},
		{"/a", "/ab"},
		{"", "/a"},
		{"/", "/a"},
		{"/a/.x", "/a/.x/y"},
		{"/é", "/e\u0301"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, folder, path string) {
		path, err := vfspath.CleanFolder(path)
		if err != nil {
			return
		}
		if vfspath.Root("").Contains(path) {
			t.Fatalf("nothing contains %q", path)
		}
		if folder, err = vfspath.CleanFolder(folder); err != nil {
			return
		}
		for _, root := range []vfspath.Root{vfspath.Root(folder), vfspath.Below(folder)} {
			if got := root.Contains(path); got != contains(root, path) {
				t.Fatalf("%q contains %q: %t", root, path, got)
			}
		}
		if hidden := slices.ContainsFunc(segments(path), func(s string) bool {
			return strings.HasPrefix(s, ".")
		}); hidden != vfspath.IsHidden(path) {
			t.Fatalf("%q is hidden: %t", path, !hidden)
		}
	})
}

// One root covers another exactly when it contains all that the other does.
func TestRootCoversWhatItContains(t *testing.T) {
	t.Parallel()
	paths := []string{"/"}
	for _, a := range []string{"/a", "/ab", "/.a", "/b"} {
		paths = append(paths, a, a+"/a", a+"/ab", a+"/.a", a+"/a/a", a+"/a/b")
	}
	roots := []vfspath.Root{""}
	for _, p := range paths {
		roots = append(roots, vfspath.Root(p), vfspath.Below(p))
	}
	for _, r := range roots {
		for _, other := range roots[1:] {
			within := !slices.ContainsFunc(paths, func(p string) bool { return other.Contains(p) && !r.Contains(p) })
			// What lies below a leaf of the sample is not in the sample.
			if probe := strings.TrimSuffix(string(other), "/") + "/x"; within && !r.Contains(probe) {
				within = false
			}
			if r.Covers(other) != within {
				t.Errorf("%q covers %q: %t", r, other, !within)
			}
		}
		if r.Covers("") {
			t.Errorf("%q covers what is missing", r)
		}
	}
}
