package dag

import "testing"

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
