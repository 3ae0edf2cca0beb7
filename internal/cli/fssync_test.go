package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/cli"
)

// said runs a command and returns what it prints, what it tells, and how it ends.
func (s shell) said(args ...string) (out, text string, code int) {
	s.t.Helper()
	return run(s.t, s.env, args...)
}

func TestFSLooksAtFiles(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	one := s.file("a.txt", "one\n")
	s.must("fs", "put", one, "/docs/a.txt")
	s.must("fs", "put", s.file("b.txt", "two\n"), "/docs/deep/b.txt")
	s.must("fs", "mkdir", "/docs/empty", "/docs/other")
	if got := s.must("fs", "ls", "/docs"); !strings.Contains(got, "empty/") || !strings.Contains(got, "deep/") {
		t.Errorf("ls: %s", got)
	}
	if got := s.must("fs", "ls", "-lR", "/docs"); strings.Count(got, "\n") != 4 || !strings.Contains(got, "deep/b.txt") ||
		!strings.Contains(got, "text/plain") || !strings.Contains(got, " empty/") {
		t.Errorf("ls -lR: %s", got)
	}
	var f struct{ Path, CID string }
	if err := json.Unmarshal([]byte(s.must("fs", "stat", "--json", "/docs/a.txt")), &f); err != nil ||
		f.Path != "/docs/a.txt" || !strings.HasPrefix(f.CID, "baf") {
		t.Fatalf("stat: %+v, %v", f, err)
	}
	if got := s.must("fs", "stat", "/docs/a.txt"); !strings.Contains(got, f.CID) {
		t.Errorf("stat: %s", got)
	}
	if got := s.must("fs", "cids"); strings.Count(got, "\n") != 2 || !strings.Contains(got, f.CID) {
		t.Errorf("cids: %s", got)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(s.must("fs", "ls", "--json", "/docs")), "\n") {
		if !json.Valid([]byte(line)) {
			t.Errorf("ls --json: %s", line)
		}
	}
	if got := s.must("fs", "cat", f.CID); got != "one\n" {
		t.Errorf("cat by CID: %q", got)
	}
	back := filepath.Join(s.dir, "back")
	s.must("fs", "get", f.CID, back)
	if b, err := os.ReadFile(back); err != nil || string(b) != "one\n" {
		t.Errorf("get by CID: %q, %v", b, err)
	}
	if _, text, code := s.said("fs", "get", "--overwrite", "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku", back); code != 1 || !strings.Contains(text, "no such file") {
		t.Errorf("a CID that nobody has: %d %s", code, text)
	}
	if b, err := os.ReadFile(back); err != nil || string(b) != "one\n" {
		t.Errorf("what could not be fetched replaced %q, %v", b, err)
	}
	s.must("fs", "export", "/docs", filepath.Join(s.dir, "docs.car"))
	if info, err := os.Stat(filepath.Join(s.dir, "docs.car")); err != nil || info.Size() < 50 {
		t.Errorf("export: %v, %v", info, err)
	}
	s.must("fs", "import", filepath.Join(s.dir, "docs.car"), "/again")
	s.must("fs", "import", "--overwrite", filepath.Join(s.dir, "docs.car"), "/again")
	s.must("fs", "import", "--blocks", filepath.Join(s.dir, "docs.car"), "/docs.car")
	if once, again := s.must("fs", "ls", "-R", "/docs"),
		s.must("fs", "ls", "-R", "/again"); strings.ReplaceAll(again, "/again", "/docs") != once {
		t.Errorf("imported as\n%s, exported from\n%s", again, once)
	}
}

func TestFSChangesSeveral(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.must("fs", "put", s.file("a", "a"), s.file("b", "b"), "/d/")
	s.must("fs", "cp", "/d", "/e")
	s.must("fs", "cp", "/d/a", "/e/c")
	if _, text, code := s.said("fs", "cp", "/d", "/e"); code != 1 || !strings.Contains(text, "occupied") {
		t.Errorf("cp onto files: %d %s", code, text)
	}
	_, text, code := s.said("fs", "rm", "/e/a", "/e/none", "/e/b")
	if code != 1 || !strings.Contains(text, "/e/none") || !strings.Contains(text, "1 of 3 failed") {
		t.Errorf("rm of several: %d %s", code, text)
	}
	if _, text, code := s.said("fs", "rm", "/d"); code != 1 || !strings.Contains(text, "is a folder: -r") {
		t.Errorf("rm of a folder: %d %s", code, text)
	}
	s.must("fs", "rm", "-r", "/d")
	if got := s.must("fs", "ls", "-R"); got != s.must("fs", "ls", "-R", "/") || !strings.HasPrefix(got, "e/c ") ||
		strings.Count(got, "\n") != 1 {
		t.Errorf("left: %s", got)
	}
}

func TestFSPutsFoldersOnce(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.file("d/a", "a")
	s.file("d/deep/b", "b")
	if err := os.Symlink(filepath.Join(s.dir, "d", "a"), filepath.Join(s.dir, "d", "link")); err != nil {
		t.Fatal(err)
	}
	local := filepath.Join(s.dir, "d")
	_, text, code := s.said("fs", "put", "-r", local, "/d")
	if code != 0 || !strings.Contains(text, "2 sent, 0 equal") || !strings.Contains(text, "link is left out: it is a symbolic link") {
		t.Errorf("first: %d %s", code, text)
	}
	s.file("d/a", "A")
	out, text, code := s.said("fs", "put", "-r", "--follow", local, "/d")
	if code != 0 || !strings.Contains(text, "2 sent, 1 equal") || strings.Count(out, "\n") != 2 {
		t.Errorf("again: %d %s %s", code, out, text)
	}
}

func TestFSSync(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for i := range 5 {
		s.file(fmt.Sprintf("src/%d.txt", i), fmt.Sprint("content ", i))
	}
	s.file("src/tmp/x", "ignored")
	s.file("src/.castaliaignore", "# what stays\ntmp/\n*.bak\n")
	s.file("src/y.bak", "ignored")
	src, dst := filepath.Join(s.dir, "src"), filepath.Join(s.dir, "dst")
	sync := func(want string, args ...string) string {
		t.Helper()
		out, text, code := s.said(append([]string{"fs", "sync"}, args...)...)
		if code != 0 || !strings.Contains(text, want) {
			t.Fatalf("sync %v: %d %s, want %s", args, code, text, want)
		}
		return out
	}
	if out := sync("5 sent, 0 equal", "--dry-run", src, "/m"); !strings.Contains(out, "would send 0.txt") {
		t.Errorf("dry run: %s", out)
	}
	if got := s.must("fs", "ls", "-R"); got != "" {
		t.Errorf("a dry run sent %s", got)
	}
	sync("5 sent, 0 equal, 0 deleted, 0 failed", src, "/m")
	if out := sync("0 sent, 5 equal", src, "/m"); out != "" {
		t.Errorf("the second time: %s", out)
	}
	s.must("fs", "put", s.file("extra", "extra"), "/m/extra")
	s.must("fs", "put", s.file("extra", "kept"), "/m/z.bak")
	s.file("src/1.txt", "changed")
	sync("1 sent, 4 equal, 0 deleted", src, "/m")
	if out := sync("0 sent, 5 equal, 1 deleted", "--dry-run", "--delete", src, "/m"); out != "would delete extra\n" {
		t.Errorf("dry run: %s", out)
	}
	sync("0 sent, 5 equal, 1 deleted", "--delete", src, "/m")
	if got := s.must("fs", "ls", "-R", "/m"); strings.Contains(got, "extra") || !strings.Contains(got, "z.bak") {
		t.Errorf("there are %s", got)
	}
	sync("6 fetched, 0 equal", "--down", "/m", dst)
	if b, err := os.ReadFile(filepath.Join(dst, "1.txt")); err != nil || string(b) != "changed" {
		t.Errorf("fetched %q, %v", b, err)
	}
	s.file("dst/mine", "mine")
	sync("0 fetched, 6 equal, 0 deleted", "--down", "/m", dst)
	sync("0 fetched, 6 equal, 1 deleted", "--down", "--delete", "/m", dst)
	if _, err := os.Stat(filepath.Join(dst, "mine")); !os.IsNotExist(err) {
		t.Errorf("what the source does not have is there: %v", err)
	}
	if _, text, code := s.said("fs", "sync", "--down", "--delete", "/none", dst); code != 1 ||
		!strings.Contains(text, "there are no files") {
		t.Errorf("from nothing: %d %s", code, text)
	}
	if _, err := os.Stat(filepath.Join(dst, "1.txt")); err != nil {
		t.Errorf("a folder that is not there emptied the local one: %v", err)
	}
}

// Whoever was given a content by its CID lists and fetches it, and nothing else.
func TestFSByACIDThatWasGiven(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	given, _, _ := strings.Cut(s.must("fs", "put", s.file("a.txt", "given\n"), "/a.txt"), " ")
	kept, _, _ := strings.Cut(s.must("fs", "put", s.file("b.txt", "kept\n"), "/b.txt"), " ")
	bob := filepath.Join(s.dir, "bob")
	alice, who := strings.TrimSpace(s.must("key", "show", filepath.Join(s.dir, "key"))),
		strings.TrimSpace(mustRun(t, "key", "new", "--out", bob))
	grant := s.file("grant", s.must("ucan", "delegate", "--key", filepath.Join(s.dir, "key"), "--audience", who, "--can", "fs/read",
		"--with", "vfs://"+strings.ReplaceAll(alice, ":", "%3A"), "--nb", `{"cids":["`+given+`"]}`, "--ttl", "1d"))
	if got := s.must("fs", "cids", "--key", bob, "--proof", "@"+grant); strings.Count(got, "\n") != 1 ||
		!strings.Contains(got, given) {
		t.Errorf("lists %s", got)
	}
	if got := s.must("fs", "cat", "--key", bob, "--proof", "@"+grant, given); got != "given\n" {
		t.Errorf("fetched %q", got)
	}
	if _, text, code := s.said("fs", "cat", "--key", bob, "--proof", "@"+grant, kept); code != 1 ||
		!strings.Contains(text, "does not reach this CID") {
		t.Errorf("another: %d %s", code, text)
	}
}

func TestFSPutsStandardInput(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	var out, told bytes.Buffer
	code := cli.Run(t.Context(), []string{"fs", "put", "-", "/stream.txt"},
		cli.IO{In: strings.NewReader("streamed"), Out: &out, Err: &told, Env: s.env})
	if code != 0 || !strings.Contains(out.String(), "/stream.txt") {
		t.Fatalf("%d %s %s", code, &out, &told)
	}
	if got := s.must("fs", "cat", "/stream.txt"); got != "streamed" {
		t.Errorf("it has %q", got)
	}
	if got := s.must("fs", "stat", "/stream.txt"); !strings.Contains(got, "text/plain") {
		t.Errorf("its name says what it is: %s", got)
	}
	told.Reset()
	code = cli.Run(t.Context(), []string{"fs", "put", "-", "/stream.txt/below"},
		cli.IO{In: strings.NewReader("streamed"), Out: &out, Err: &told, Env: s.env})
	if code != 1 || !strings.Contains(told.String(), "put standard input: /stream.txt is a file") {
		t.Errorf("below a file: %d %s", code, &told)
	}
}
