//go:build linux

package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/castalia-org/castalia/test/system"
	"github.com/castalia-org/castalia/test/testenv"
)

// git runs a command of git at the root of the tree.
func git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// previous builds the program as it was before the newest migration, or at the
// commit that UPGRADE_FROM names.
func previous(t *testing.T) string {
	t.Helper()
	commit := os.Getenv("UPGRADE_FROM")
	if commit == "" {
		newest := git(t, "log", "-1", "--format=%H", "--diff-filter=A", "--", "internal/*/migrations/*.sql")
		if newest == "" {
			newest = "HEAD"
		}
		commit = git(t, "rev-parse", newest+"~1")
	}
	t.Logf("the old program is %s", git(t, "log", "-1", "--format=%h %s", commit))
	tree := filepath.Join(t.TempDir(), "old")
	if err := os.Mkdir(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	unpack := exec.CommandContext(t.Context(), "sh", "-c", `git archive --format=tar "$1" | tar -x -C "$2"`, "sh", commit, tree)
	unpack.Dir = filepath.Join("..", "..")
	if said, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("unpack %s: %v\n%s", commit, err, said)
	}
	// As an overlay over this tree, so that what did not change is built already.
	root := git(t, "rev-parse", "--show-toplevel")
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	changed := git(t, "diff", "--name-only", "--no-renames", commit) + "\n" + git(t, "ls-files", "--others", "--exclude-standard")
	for name := range strings.Lines(changed) {
		name = strings.TrimSpace(name)
		old := filepath.Join(tree, name)
		if _, err := os.Stat(old); err != nil {
			old = "" // it was not there
		}
		overlay.Replace[filepath.Join(root, name)] = old
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	list, path := filepath.Join(tree, "overlay.json"), filepath.Join(tree, "castalia-old")
	if err := os.WriteFile(list, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := system.Build(t.Context(), root, path, "-overlay", list); err != nil {
		t.Fatalf("build %s: %v", commit, err)
	}
	return path
}

// TestRollingUpgrade replaces a fleet of the previous schema node by node while
// everybody works. Nothing is lost, and nobody is left without an answer.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	need(t)
	testenv.Need(t, "history", "git", "tar")
	after, before := system.Binary(t), previous(t)
	w := startWorld(t, []string{before, before, before})
	c, err := newCrowd(t.Context(), w, "upgrade")
	if err != nil {
		t.Fatal(err)
	}
	defer c.end()
	if err := c.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The new schema first, beside old nodes that serve.
	migrate := func(args ...string) string {
		said, err := w.command(t.Context(), after, append(w.env(), "CASTALIA_DATA="+filepath.Join(w.dir, "migrate")),
			append([]string{"migrate"}, args...)...)
		if err != nil {
			t.Fatalf("migrate: %v\n%s", err, said)
		}
		return said
	}
	if said := migrate("--status"); !strings.Contains(said, "pending") && os.Getenv("UPGRADE_FROM") == "" {
		t.Errorf("the old program has the new schema already:\n%s", said)
	}
	if said := migrate(); !strings.Contains(said, "up to date") {
		t.Errorf("migrate: %s", said)
	}
	w.Tell("the database has the new schema")
	for i, n := range w.nodes {
		served(t, c, fmt.Sprintf("with %d new nodes", i))
		moved := moving(t, c, i)
		w.Tell("node %d is asked to stop", i)
		if err := n.end(syscall.SIGTERM); err != nil {
			t.Errorf("node %d: %v", i, err)
		}
		w.Tell("node %d has stopped", i)
		moved()
		if code := n.cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("node %d ended with code %d:\n%s", i, code, n.tail(2<<10))
		}
		served(t, c, "with two nodes")
		w.binary[i] = after
		if err := n.up(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.Tell("node %d is new", i)
	}
	served(t, c, "with new nodes alone")
	c.end()
	gentle(t, c)
	verdict(t, c)
}

// moving begins a long answer at a node that is about to stop. The function that
// it returns waits until the answer was read to its end, somewhere else.
func moving(t *testing.T, c *crowd, node int) func() {
	t.Helper()
	reader := &chatter{crowd: c, who: newPerson(c, fmt.Sprint("moving ", node))}
	if !reader.enter(t.Context()) {
		t.Fatal("a reader got no session")
	}
	c.clients = append(c.clients, reader)
	whole := make(chan bool, 1)
	go func() { whole <- reader.turnAt(t.Context(), node, slowPrefix+fmt.Sprint(node), "") }()
	for !strings.Contains(c.world.Story(), reader.name()+" "+slowPrefix) { // it is accepted
		pause(t.Context(), 20*time.Millisecond)
	}
	return func() {
		if !<-whole || reader.moves == 0 {
			t.Errorf("the stream of node %d moved %d times and was not read to its end", node, reader.moves)
		}
	}
}

func served(t *testing.T, c *crowd, when string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.more(ctx, 1); err != nil {
		t.Errorf("%s: %v", when, err)
	}
}

// gentle checks what faults would excuse: that every request which was taken got
// its answer, and that pages were told to go elsewhere.
func gentle(t *testing.T, c *crowd) {
	t.Helper()
	c.book.write(func(e *Evidence) {
		for _, w := range e.Writes {
			if w.Told == Unknown {
				t.Errorf("nobody knows whether %s version %s was stored", w.Path, w.CID)
			}
		}
		for _, turn := range e.Turns {
			if turn.Told == Unknown {
				t.Errorf("nobody knows whether %q was taken", turn.Message)
			}
		}
		for _, n := range e.Notes {
			if n.Told == Unknown {
				t.Errorf("nobody knows whether %q is remembered", n.Text)
			}
		}
	})
	ends := 0
	for _, one := range c.clients {
		p, ok := one.(*page)
		if !ok {
			continue
		}
		for _, err := range p.ends {
			ends++
			if told, ok := errors.AsType[*websocket.CloseError](err); !ok || told.Code == websocket.CloseAbnormalClosure {
				t.Errorf("a socket was cut, not told: %v", err)
			}
		}
	}
	if ends == 0 {
		t.Error("no socket had to move")
	}
}
