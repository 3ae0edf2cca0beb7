package system_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/test/system"
	"github.com/castalia-org/castalia/test/testenv"
)

// example is a command that a document shows, and what it is said to print.
type example struct{ command, prints string }

// examples reads the indented lines under a heading. A line that begins with $
// is a command and what follows is its output; without any $ all are commands.
func examples(t *testing.T, document, heading string) []example {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", document))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no heading %q", document, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	section = strings.ReplaceAll(section, "\\\n", "") // a command that goes on in the next line
	shown := strings.Contains(section, "\n    $ ")
	var all []example
	for line := range strings.Lines(section) {
		line, code := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		if !code {
			continue
		}
		command, is := strings.CutPrefix(line, "$ ")
		switch {
		case is || !shown:
			all = append(all, example{command: command})
		case len(all) > 0:
			all[len(all)-1].prints += line + "\n"
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s shows no command under %q", document, heading)
	}
	return all
}

// newcomer is somebody with the program on the PATH, a folder and a server that
// was started as it comes.
type newcomer struct {
	world *system.World
	dir   string
	path  string
}

func newNewcomer(t *testing.T, settings ...string) *newcomer {
	t.Helper()
	testenv.Need(t, "curl", "sh")
	n := &newcomer{dir: t.TempDir(), path: t.TempDir()}
	if err := os.Symlink(system.Binary(t), filepath.Join(n.path, "castalia")); err != nil {
		t.Fatal(err)
	}
	n.world = system.Start(t, system.Embedded, append(settings, "CASTALIA_ENV=development")...)
	return n
}

// types runs a command as the document has it, but for the server's port.
func (n *newcomer) types(t *testing.T, command string) string {
	t.Helper()
	address := strings.TrimPrefix(n.world.URL(), "http://")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(command, "localhost:3000", address))
	cmd.Dir = n.dir
	cmd.Env = []string{"PATH=" + n.path + ":" + os.Getenv("PATH"), "HOME=" + n.dir, "CASTALIA_URL=" + n.world.URL()}
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", command, err, text)
	}
	return string(text)
}

// TestTheReadmeIsTrue runs what the README tells a newcomer to try, from its own
// text, and compares what is printed; an ellipsis there stands for anything.
func TestTheReadmeIsTrue(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t)
	for _, e := range examples(t, "README.md", "Three things to try") {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(e.prints)), "…", `[^"]*`)
		got := strings.TrimSpace(n.types(t, e.command))
		if !regexp.MustCompile("^" + pattern + "$").MatchString(got) {
			t.Errorf("%s\nprints  %s\nand not %s", e.command, got, e.prints)
		}
	}
	if got := n.types(t, `printf '' | castalia dial '*2233#'`); !strings.Contains(got, "Welcome to Castalia") {
		t.Errorf("castalia dial prints %q", got)
	}
	pages := map[string]int{"/docs": http.StatusOK, "/console/": http.StatusOK}
	if _, err := os.Stat("../../web/console/dist/index.html"); err != nil {
		pages["/console/"] = http.StatusNotFound // built without Node
	}
	for page, status := range pages {
		if reply := n.world.Node(0).Get(t, page); reply.Status != status {
			t.Errorf("GET %s: %d, want %d", page, reply.Status, status)
		}
	}
}

// TestFilesFromAShell runs the README's commands for files: what is computed
// here is the name under which the server keeps it.
func TestFilesFromAShell(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t)
	if err := os.WriteFile(filepath.Join(n.dir, "notes.txt"), []byte("it rains\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, e := range examples(t, "README.md", "Files from a shell") {
		name := strings.Join(strings.Fields(e.command)[1:3], " ")
		said[name] = n.types(t, e.command)
	}
	cid, _, _ := strings.Cut(said["cid notes.txt"], " ")
	cid = strings.TrimSpace(cid)
	if !strings.HasPrefix(cid, "bafkrei") || !strings.Contains(said["fs put"], cid) || !strings.Contains(said["fs ls"], "notes.txt") {
		t.Errorf("the commands say %q", said)
	}
}

// TestTheGuideWatchesRealMetrics: what operators are told to watch is there once
// a telephone has called.
func TestTheGuideWatchesRealMetrics(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t, "REPLICA_URL=file://"+t.TempDir(), "REPLICA_PASSPHRASE=a long passphrase")
	n.types(t, `printf '' | castalia dial '*2233#'`)
	metrics := string(n.world.Node(0).Get(t, "/metrics").Body)
	guide, err := os.ReadFile("../../docs/guides/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`((?:castalia|process)_[a-z_*]+)").FindAllStringSubmatch(string(guide), -1)
	if len(names) < 10 {
		t.Fatalf("the guide names %d metrics", len(names))
	}
	for _, m := range names {
		if !regexp.MustCompile(`(?m)^# TYPE ` + strings.ReplaceAll(m[1], "*", "[a-z_]*") + ` `).MatchString(metrics) {
			t.Errorf("the guide watches %s, which is not there", m[1])
		}
	}
	for file, atLeast := range map[string]int{"alerts.yaml": 10, "dashboard.json": 12} {
		text, err := os.ReadFile("../../deploy/monitoring/" + file)
		if err != nil {
			t.Fatal(err)
		}
		watched := regexp.MustCompile(`\b(?:castalia|process)_[a-z_]+`).FindAllString(string(text), -1)
		if len(watched) < atLeast {
			t.Errorf("%s watches %v only", file, watched)
		}
		for _, name := range watched {
			if !strings.Contains(metrics, "\n# TYPE "+strings.TrimSuffix(name, "_bucket")+" ") {
				t.Errorf("%s watches %s, which is not there", file, name)
			}
		}
	}
}
