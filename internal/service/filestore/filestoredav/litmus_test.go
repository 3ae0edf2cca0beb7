package filestoredav_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/test/testenv"
)

var litmusSummary = regexp.MustCompile("summary for `(\\w+)': of (\\d+) tests run: (\\d+) passed, (\\d+) failed")

// Debian's litmus holds servers to RFC 4918: every test of every group passes.
func TestLitmus(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "litmus")
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		out := s.run("litmus", "-k", s.url+"/dav/", "any", s.key)
		groups := litmusSummary.FindAllStringSubmatch(out, -1)
		if len(groups) != 5 || strings.Contains(out, "SKIPPED") {
			t.Fatalf("%d groups ran:\n%s", len(groups), out)
		}
		for _, g := range groups {
			if g[2] != g[3] || g[4] != "0" {
				t.Errorf("%s\n%s", g[0], out)
			}
		}
	})
}

// run runs a program in a folder of its own and returns what it says.
func (s *site) run(name string, args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), name, args...)
	cmd.Dir = s.t.TempDir()
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir, "LC_ALL=C.UTF-8"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

// rclone copies a folder there and back without a difference, sends nothing twice,
// and knows times and checksums.
func TestRclone(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "rclone")
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		here, back := t.TempDir(), t.TempDir()
		for name, text := range map[string]string{
			"a.txt": "a", "ü name #1.txt": "u", "deep/er/b%20.bin": strings.Repeat("b", 3<<20), "deep/empty": "", "q?&+;=.txt": "q",
		} {
			path := filepath.Join(here, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		config := filepath.Join(t.TempDir(), "rclone.conf")
		hidden := strings.TrimSpace(s.run("rclone", "obscure", s.key))
		if err := os.WriteFile(config, []byte("[c]\ntype = webdav\nvendor = owncloud\nurl = "+s.url+"/dav\nuser = any\npass = "+hidden+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		rclone := func(args ...string) string { return s.run("rclone", append([]string{"--config", config}, args...)...) }
		rclone("sync", here, "c:x")
		rclone("check", here, "c:x")
		rclone("check", "--download", here, "c:x")
		if out := rclone("sync", "-v", here, "c:x"); strings.Contains(out, "Copied") || strings.Contains(out, "Updated") {
			t.Errorf("the second time: %s", out)
		}
		rclone("sync", "c:x", back)
		rclone("check", here, back)
		if out := rclone("hashsum", "SHA1", "c:x"); strings.Count(out, "\n") != 5 || strings.Contains(out, "UNSUPPORTED") {
			t.Errorf("checksums: %s", out)
		}
		rclone("moveto", "c:x/deep", "c:y/z")
		rclone("purge", "c:x")
		if out := rclone("lsf", "-R", "c:"); out != "y/\ny/z/\ny/z/empty\ny/z/er/\ny/z/er/b%20.bin\n" {
			t.Errorf("left are %s", out)
		}
	})
}

func TestCadaver(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "cadaver")
	s := newSite(t, filestoretest.Embedded(t))
	dir := t.TempDir()
	host := strings.TrimPrefix(s.url, "http://")
	for name, text := range map[string]string{
		".netrc": "machine " + host[:strings.IndexByte(host, ':')] + " login any password " + s.key + "\n",
		"local":  "of cadaver",
		"script": "mkcol d\ncd d\nput local remote\nlock remote\nput local remote\nunlock remote\ncopy remote other\nmove other third\nget third fetched\nls\nquit\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script, err := os.Open(filepath.Join(dir, "script"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = script.Close() }()
	cmd := exec.CommandContext(t.Context(), "cadaver", s.url+"/dav/")
	cmd.Dir, cmd.Stdin, cmd.Env = dir, script, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "failed") {
		t.Fatalf("%v\n%s", err, out)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "fetched")); err != nil || string(got) != "of cadaver" {
		t.Errorf("fetched %q, %v\n%s", got, err, out)
	}
}
