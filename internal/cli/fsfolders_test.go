package cli_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// folders makes local folders.
func (s shell) folders(names ...string) {
	s.t.Helper()
	for _, name := range names {
		if err := os.MkdirAll(filepath.Join(s.dir, filepath.FromSlash(name)), 0o700); err != nil {
			s.t.Fatal(err)
		}
	}
}

// below lists what is in a local folder, folders with a slash.
func (s shell) below(name string) string {
	s.t.Helper()
	var all []string
	root := filepath.Join(s.dir, name)
	err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		if err != nil || at == root {
			return err
		}
		below, err := filepath.Rel(root, at)
		if below = filepath.ToSlash(below); d.IsDir() {
			below += "/"
		}
		all = append(all, below)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// remote lists what is in a remote folder, folders with a slash.
func (s shell) remote(folder string) string {
	s.t.Helper()
	var all []string
	var walk func(at string)
	walk = func(at string) {
		for name := range strings.Lines(s.must("fs", "ls", at)) {
			name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
			all = append(all, strings.TrimPrefix(at+"/"+name, folder+"/"))
			if below, isFolder := strings.CutSuffix(name, "/"); isFolder {
				walk(at + "/" + below)
			}
		}
	}
	walk(folder)
	slices.Sort(all)
	return strings.Join(all, " ")
}

// sync runs a synchronisation, which has to say what it did.
func (s shell) sync(want string, args ...string) string {
	s.t.Helper()
	out, text, code := s.said(append([]string{"fs", "sync"}, args...)...)
	if code != 0 || !strings.Contains(text, want) {
		s.t.Fatalf("sync %v: %d %s, want %s", args, code, text, want)
	}
	return out
}

func TestFSListsEmptyFolders(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.must("fs", "mkdir", "/t/none", "/t/deep/none", "/t/full")
	s.must("fs", "put", s.file("a", "a"), "/t/full/a")
	if got := strings.Fields(s.must("fs", "ls", "-R", "/t")); len(got) < 5 || got[0] != "deep/none/" || got[1] != "full/a" ||
		got[len(got)-1] != "none/" {
		t.Errorf("ls -R: %q", got)
	}
	if got := s.must("fs", "ls", "-lR", "/t"); strings.Count(got, "folder ") != 2 || strings.Count(got, "\n") != 3 {
		t.Errorf("ls -lR: %s", got)
	}
	if got := s.must("fs", "ls", "-l", "/t"); strings.Count(got, "folder ") != 3 || strings.Count(got, "\n") != 3 {
		t.Errorf("ls -l: %s", got)
	}
	if got := s.must("fs", "ls", "-R", "/t/none"); got != "" {
		t.Errorf("ls -R of an empty folder: %s", got)
	}
}

func TestFSGetMakesEmptyFolders(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.must("fs", "mkdir", "/t/none", "/t/deep/er/none", "/t/full", "/beside")
	s.must("fs", "put", s.file("a", "a"), "/t/full/a")
	copied := filepath.Join(s.dir, "copy")
	_, text, code := s.said("fs", "get", "-r", "/t", copied)
	if code != 0 || !strings.Contains(text, "1 fetched, 0 equal, 0 deleted, 0 failed, empty folders made: 2") {
		t.Errorf("%d %s", code, text)
	}
	const want = "deep/ deep/er/ deep/er/none/ full/ full/a none/"
	if got := s.below("copy"); got != want {
		t.Errorf("here are %s, want %s", got, want)
	}
	if _, text, _ := s.said("fs", "get", "-r", "/t", copied); strings.Contains(text, "empty folders") {
		t.Errorf("again: %s", text)
	}
	s.must("fs", "get", "-r", "/t/none", filepath.Join(s.dir, "one"))
	if got := s.below("one"); got != "" {
		t.Errorf("an empty folder has %s", got)
	}
	s.must("fs", "get", "-r", "/", filepath.Join(s.dir, "all"))
	if got := s.below("all/t") + s.below("all/beside"); got != want {
		t.Errorf("of all there are %s", got)
	}
	// An archive has them as well.
	archive := filepath.Join(s.dir, "t.car")
	s.must("fs", "export", "/t", archive)
	s.must("fs", "import", archive, "/again")
	if got := s.remote("/again"); got != want {
		t.Errorf("from an archive come %s", got)
	}
}

func TestFSSyncKeepsEmptyFolders(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	src, dst := filepath.Join(s.dir, "src"), filepath.Join(s.dir, "dst")
	s.folders("src/none", "src/deep/er", "src/tmp/er", "src/bak")
	s.file("src/full/a", "a")
	s.file("src/bak/x.bak", "ignored")
	s.file("src/.castaliaignore", "tmp\n*.bak\n")
	const up = "1 sent, 0 equal, 0 deleted, 0 failed, empty folders made: 3"
	const would = "would send full/a\nwould make bak/\nwould make deep/er/\nwould make none/\n"
	if out := s.sync(up, "--dry-run", src, "/m"); out != would {
		t.Errorf("a dry run says %s", out)
	}
	if got := s.remote("/"); got != "" {
		t.Errorf("a dry run made %s", got)
	}
	s.sync(up, src, "/m")
	const want = "bak/ deep/ deep/er/ full/ full/a none/"
	if got := s.remote("/m"); got != want {
		t.Errorf("there are %s, want %s", got, want)
	}
	if _, text, _ := s.said("fs", "sync", src, "/m"); strings.Contains(text, "empty folders") {
		t.Errorf("again: %s", text)
	}
	const down = "1 fetched, 0 equal, 0 deleted, 0 failed, empty folders made: 3"
	if out := s.sync(down, "--down", "--dry-run", "/m", dst); out != "would fetch full/a\nwould make none/\nwould make deep/er/\nwould make bak/\n" {
		t.Errorf("a dry run says %s", out)
	}
	if _, err := os.Stat(dst); !os.IsNotExist(err) {
		t.Errorf("a dry run made the folder: %v", err)
	}
	s.sync(down, "--down", "/m", dst)
	if got := s.below("dst"); got != want {
		t.Errorf("here are %s, want %s", got, want)
	}
	// A folder whose last file went is empty now, and stays.
	if err := os.Remove(filepath.Join(s.dir, "src", "full", "a")); err != nil {
		t.Fatal(err)
	}
	s.sync("0 sent, 0 equal, 1 deleted, 0 failed, empty folders made: 1", "--delete", src, "/m")
	if got := s.remote("/m"); got != "bak/ deep/ deep/er/ full/ none/" {
		t.Errorf("there are %s", got)
	}
}

// Folders that the source does not have go when that was asked for, those below before
// those above, and none in which something stays.
func TestFSSyncDeletesFoldersWhenAsked(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	src := filepath.Join(s.dir, "src")
	s.file("src/a", "a")
	s.file("src/.castaliaignore", "*.bak\n")
	s.must("fs", "put", s.file("x", "x"), "/m/old/x")
	s.must("fs", "put", s.file("x", "x"), "/m/kept/in/x.bak")
	s.must("fs", "mkdir", "/m/old/er/est", "/m/old", "/m/gone", "/m/kept/in", "/m/kept/none", "/beside")
	s.sync("1 sent, 0 equal, 0 deleted", src, "/m")
	const before = "a gone/ kept/ kept/in/ kept/in/x.bak kept/none/ old/ old/er/ old/er/est/ old/x"
	if got := s.remote("/m"); got != before {
		t.Fatalf("without being asked: %s", got)
	}
	const would = "would delete old/x\nwould delete old/er/est/\nwould delete old/\nwould delete kept/none/\nwould delete gone/\n"
	if out := s.sync("0 sent, 1 equal, 5 deleted", "--dry-run", "--delete", src, "/m"); out != would {
		t.Errorf("a dry run says %s", out)
	}
	if got := s.remote("/m"); got != before {
		t.Fatalf("a dry run left %s", got)
	}
	s.sync("0 sent, 1 equal, 5 deleted, 0 failed", "--delete", src, "/m")
	if got := s.remote("/m"); got != "a kept/ kept/in/ kept/in/x.bak" {
		t.Errorf("there are %s", got)
	}

	dst := filepath.Join(s.dir, "dst")
	s.folders("dst/none/er", "dst/kept/in", "dst/kept/none")
	s.file("dst/old/x", "x")
	s.file("dst/kept/in/y.bak", "y")
	s.file("dst/.castaliaignore", "*.bak\n")
	if err := os.Symlink(src, filepath.Join(s.dir, "dst", "kept", "link")); err != nil {
		t.Fatal(err)
	}
	s.must("fs", "rm", "-r", "/m/kept")
	s.sync("1 fetched, 0 equal, 0 deleted", "--down", "/m", dst)
	const local = ".castaliaignore a kept/ kept/in/ kept/in/y.bak kept/link kept/none/ none/ none/er/ old/ old/x"
	if got := s.below("dst"); got != local {
		t.Fatalf("without being asked: %s", got)
	}
	const wouldHere = "would delete old/x\nwould delete old/\nwould delete none/er/\nwould delete none/\nwould delete kept/none/\n"
	if out := s.sync("0 fetched, 1 equal, 5 deleted", "--down", "--dry-run", "--delete", "/m", dst); out != wouldHere {
		t.Errorf("a dry run says %s", out)
	}
	s.sync("0 fetched, 1 equal, 5 deleted, 0 failed", "--down", "--delete", "/m", dst)
	if got := s.below("dst"); got != ".castaliaignore a kept/ kept/in/ kept/in/y.bak kept/link" {
		t.Errorf("here are %s", got)
	}
}

// A folder that is a symbolic link is the folder that it leads to: were it taken for
// empty, everything would be deleted on the other side.
func TestFSSyncFromALinkedFolder(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.file("src/a", "a")
	link := filepath.Join(s.dir, "link")
	if err := os.Symlink(filepath.Join(s.dir, "src"), link); err != nil {
		t.Fatal(err)
	}
	s.sync("1 sent, 0 equal", link, "/m")
	s.sync("0 sent, 1 equal, 0 deleted", "--delete", link, "/m")
	if got := s.remote("/m"); got != "a" {
		t.Errorf("there are %q", got)
	}
	s.must("fs", "put", "-r", link, "/n")
	if got := s.remote("/n"); got != "a" {
		t.Errorf("put were %q", got)
	}
}
