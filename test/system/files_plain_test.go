package system_test

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/test/system"
	"github.com/castalia-org/castalia/test/testenv"
)

// A plain link opens on any node: in a browser as a page, with `curl -O` as the file
// under its own name, as often as it is good for and no more.
func TestPlainLinks(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "curl")
	system.Each(t, func(t *testing.T, w *system.World) {
		who, err := did.NewSigner()
		if err != nil {
			t.Fatal(err)
		}
		c := files(t, w.Node(0), who)
		content := randomBytes(3<<20+5, 9)
		if _, err := c.Put(t.Context(), "/d/photo 1.bin", "application/octet-stream", bytes.NewReader(content),
			int64(len(content)), cidOf(t, content)); err != nil {
			t.Fatal(err)
		}
		link, err := c.SharePlainly(t.Context(), "/d/photo 1.bin", time.Now().Add(time.Hour), 1)
		if err != nil {
			t.Fatal(err)
		}
		path := link.URL[strings.Index(link.URL, "/s/"):]
		last := w.Node(len(w.Nodes) - 1)
		page := last.Do(t, system.Call{Method: http.MethodGet, Path: path, Header: http.Header{"Accept": {"text/html"}}})
		if page.Status != http.StatusOK || !strings.Contains(string(page.Body), "1 more download") {
			t.Errorf("the page: %d %s", page.Status, page.Body)
		}
		dir := t.TempDir()
		curl := exec.CommandContext(t.Context(), "curl", "-sS", "--fail", "-O", last.URL+path)
		curl.Dir = dir
		if said, err := curl.CombinedOutput(); err != nil {
			t.Fatalf("curl: %v %s", err, said)
		}
		got, err := os.ReadFile(filepath.Join(dir, "photo%201.bin"))
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("what curl saved: %v, %d bytes", err, len(got))
		}
		if r := w.Node(0).Get(t, path); r.Status != http.StatusGone {
			t.Errorf("after the last download: %d %s", r.Status, r.Body)
		}
		for i := range len(w.Nodes) {
			if secret := strings.Split(path, "/")[2]; strings.Contains(w.Node(i).Log(), secret) {
				t.Errorf("the log of node %d has the secret", i)
			}
		}
	})
}

// A link for uploads takes files on any node, by `curl -T`, by `curl -F` and from a
// form, and what it took is there after a crash, as is what it may still take.
func TestLinksForUploads(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "curl")
	system.Each(t, func(t *testing.T, w *system.World) {
		dir := t.TempDir()
		mine := filepath.Join(dir, "mine.key")
		castalia := func(n *system.Node, args ...string) string {
			t.Helper()
			text, code := system.Run(t, []string{"CASTALIA_URL=" + n.URL, "CASTALIA_KEY=" + mine}, args...)
			if code != 0 {
				t.Fatalf("castalia %v: %d %s", args, code, text)
			}
			return text
		}
		castalia(w.Node(0), "key", "new", "--out", mine)
		said := castalia(w.Node(0), "fs", "share", "--upload", "4MiB", "--uses", "3", "--qr", "/inbox")
		path := strings.Fields(said[strings.Index(said, "/s/"):])[0]
		if !strings.Contains(said, "█▀▀") && !strings.Contains(said, "██ ▄▄▄▄▄ █") {
			t.Errorf("no code:\n%s", said)
		}
		photo := filepath.Join(dir, "photo.bin")
		content := randomBytes(3<<20+7, 31)
		if err := os.WriteFile(photo, content, 0o600); err != nil {
			t.Fatal(err)
		}
		curl := func(n *system.Node, args ...string) string {
			t.Helper()
			said, err := exec.CommandContext(t.Context(), "curl",
				append([]string{"-sS", "-w", " %{http_code}"}, append(args, n.URL+path)...)...).CombinedOutput()
			if err != nil {
				t.Fatalf("curl: %v %s", err, said)
			}
			return string(said)
		}
		last := w.Node(len(w.Nodes) - 1)
		if got := curl(last, "-T", photo); !strings.HasSuffix(got, "201") ||
			!strings.Contains(got, cidOf(t, content).String()) {
			t.Errorf("curl -T: %s", got)
		}
		w.Node(0).Kill()
		w.Node(0).Start()
		w.Node(0).WaitReady()
		if got := curl(w.Node(0), "-F", "file=@"+photo); !strings.HasSuffix(got, "413") {
			t.Errorf("more than it takes: %s", got)
		}
		if got := curl(w.Node(0), "-F", "file=small;filename=photo.bin", "-F", "file=smaller;filename=note"); !strings.HasSuffix(got, "201") {
			t.Errorf("curl -F: %s", got)
		}
		if got := curl(last, "-T", photo); !strings.HasSuffix(got, "410") {
			t.Errorf("used up: %s", got)
		}
		if got := castalia(last, "fs", "cat", "/inbox/photo.bin"); got != string(content) {
			t.Errorf("what came has %d bytes", len(got))
		}
		if got := castalia(last, "fs", "cat", "/inbox/photo (2).bin"); got != "small" {
			t.Errorf("the second of its name is %q", got)
		}
		for i := range len(w.Nodes) {
			if secret := strings.Split(path, "/")[2]; strings.Contains(w.Node(i).Log(), secret) {
				t.Errorf("the log of node %d has the secret", i)
			}
		}
	})
}
