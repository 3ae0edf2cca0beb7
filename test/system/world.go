// Package system starts the real program, as a user would, in both shapes: one
// process on its own data folder, or three on PostgreSQL, S3 and NATS. It gives
// tests one object, World, to act with, and tests the program from outside.
//
// A World's processes end with the test. Nothing here reaches into the program:
// what a test sees, a user can see, but for World.Database.
package system

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/castalia-org/castalia/test/testenv"
)

// Shape is how the program is deployed.
type Shape string

// The two shapes.
const (
	Embedded Shape = "embedded"
	Fleet    Shape = "fleet"
)

const fleetSize = 3

// World is a running deployment.
type World struct {
	Shape Shape
	Nodes []*Node
	// Env is what every node is started with, beyond its own port.
	Env []string
	// Data is the data folder of the embedded shape.
	Data string
	// Client has no time limit of its own; use contexts.
	Client *http.Client
	t      testing.TB
}

// Node is one process.
type Node struct {
	URL   string
	world *World
	index int
	port  int
	cmd   *exec.Cmd
	done  chan struct{}
	log   *lockedBuffer
}

// Each runs body in both shapes, in parallel.
func Each(t *testing.T, body func(t *testing.T, w *World), env ...string) {
	t.Helper()
	for _, shape := range []Shape{Embedded, Fleet} {
		t.Run(string(shape), func(t *testing.T) {
			t.Parallel()
			body(t, Start(t, shape, env...))
		})
	}
}

// Start builds the program if needed and starts it; it returns when every node
// is ready. env lines override the defaults.
func Start(t testing.TB, shape Shape, env ...string) *World {
	t.Helper()
	w := Prepare(t, shape, env...)
	for _, n := range w.Nodes {
		n.Start()
	}
	for _, n := range w.Nodes {
		n.WaitReady()
	}
	return w
}

// Prepare is Start up to the point where the nodes would be started.
func Prepare(t testing.TB, shape Shape, env ...string) *World {
	t.Helper()
	w := &World{Shape: shape, Client: &http.Client{}, t: t}
	w.Env = []string{"LOG_FORMAT=json", "LOG_LEVEL=debug", "RATE_LIMIT_PER_MINUTE=0", "HOST=127.0.0.1", "CASTALIA_ENV=test"}
	count := 1
	switch shape {
	case Embedded:
		w.Data = filepath.Join(t.TempDir(), "data")
		w.Env = append(w.Env, "CASTALIA_DATA="+w.Data)
	case Fleet:
		count = fleetSize
		w.Env = append(w.Env, fleetEnv(t)...)
	}
	w.Env = append(w.Env, env...)
	for i := range count {
		w.Nodes = append(w.Nodes, &Node{world: w, index: i, port: testenv.Port(t), log: &lockedBuffer{}})
		w.Nodes[i].URL = fmt.Sprintf("http://127.0.0.1:%d", w.Nodes[i].port)
	}
	t.Cleanup(w.stopAll)
	return w
}

func fleetEnv(t testing.TB) []string {
	t.Helper()
	s3 := testenv.S3(t)
	return []string{
		"DATABASE_URL=" + testenv.Postgres(t),
		"BLOB_URL=" + s3.URL(), "AWS_ACCESS_KEY_ID=" + s3.AccessKey, "AWS_SECRET_ACCESS_KEY=" + s3.SecretKey,
		"NATS_URL=" + testenv.NATS(t),
		"ORACLE_KEY=" + Key(1), "PIN_ENCRYPTION_KEY=" + Key(2), "FILES_MASTER_KEY=" + Key(3),
	}
}

// Key is a fixed test key of 64 hexadecimal digits.
func Key(n byte) string { return hex.EncodeToString(bytes.Repeat([]byte{n}, 32)) }

// URL is the address of the first node.
func (w *World) URL() string { return w.Nodes[0].URL }

// Node returns the i-th node, counting round, so that a test written for three
// nodes also runs on one.
func (w *World) Node(i int) *Node { return w.Nodes[i%len(w.Nodes)] }

func (w *World) stopAll() {
	for _, n := range w.Nodes {
		n.Kill()
	}
	if w.t.Failed() {
		for _, n := range w.Nodes {
			w.t.Logf("log of node %d, what it complained of and its end:\n%s", n.index, tail(n.log.String()))
		}
	}
}

// tail is short, so that what a test says stays in sight above the logs of three nodes.
func tail(log string) string {
	const complaints, end = 4 << 10, 1 << 10
	var bad strings.Builder
	for line := range strings.Lines(log[:max(0, len(log)-end)]) {
		if strings.Contains(line, `"level":"ERROR"`) || strings.Contains(line, `"level":"WARN"`) {
			bad.WriteString(line)
		}
	}
	text := bad.String()
	return text[max(0, len(text)-complaints):] + log[max(0, len(log)-end):]
}

// Start starts the node's process, on the port that it always has.
func (n *Node) Start() {
	n.world.t.Helper()
	binary := Binary(n.world.t)
	n.cmd = exec.Command(binary, "serve")
	n.cmd.Dir = n.world.t.TempDir()
	n.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + n.cmd.Dir}, n.world.Env...)
	n.cmd.Env = append(n.cmd.Env, fmt.Sprintf("PORT=%d", n.port), "NODE_URL="+n.URL)
	if n.world.Shape == Fleet {
		n.cmd.Env = append(n.cmd.Env, "CASTALIA_DATA="+filepath.Join(n.cmd.Dir, "data"))
	}
	n.cmd.Stdout, n.cmd.Stderr = n.log, n.log
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := n.cmd.Start(); err != nil {
		n.world.t.Fatalf("start node %d: %v", n.index, err)
	}
	n.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait()
		close(done)
	}(n.cmd, n.done)
}

// WaitReady returns when GET /ready says so, and fails the test if the process
// ends first or a minute passes.
func (n *Node) WaitReady() {
	n.world.t.Helper()
	Eventually(n.world.t, fmt.Sprintf("node %d is ready", n.index), func() error {
		select {
		case <-n.done:
			n.world.t.Fatalf("node %d ended at start:\n%s", n.index, n.log)
		default:
		}
		return n.Ready()
	})
}

// Ready asks the node once.
func (n *Node) Ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, n.URL+"/ready", http.NoBody)
	if err != nil {
		return err
	}
	reply, err := n.world.Client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = reply.Body.Close() }()
	body, _ := io.ReadAll(reply.Body)
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", reply.Status, body)
	}
	return nil
}

// Kill ends the process at once, as a power cut would.
func (n *Node) Kill() { n.signal(syscall.SIGKILL, true) }

// Stop asks the process to drain and waits until it has ended.
func (n *Node) Stop() { n.signal(syscall.SIGTERM, true) }

// Signal sends a signal without waiting, such as SIGSTOP.
func (n *Node) Signal(s syscall.Signal) { n.signal(s, false) }

// Done is closed when the process has ended.
func (n *Node) Done() <-chan struct{} { return n.done }

// ExitCode waits until the process has ended, and fails the test when a minute
// passes; it is -1 for one that a signal ended.
func (n *Node) ExitCode() int {
	n.world.t.Helper()
	select {
	case <-n.done:
	case <-time.After(time.Minute):
		n.world.t.Fatalf("node %d did not end within a minute", n.index)
	}
	return n.cmd.ProcessState.ExitCode()
}

// PID is the process's number.
func (n *Node) PID() int { return n.cmd.Process.Pid }

// Log is everything that the process has printed so far, over all its starts.
func (n *Node) Log() string { return n.log.String() }

func (n *Node) signal(s syscall.Signal, wait bool) {
	if n.cmd == nil || n.cmd.Process == nil {
		return
	}
	_ = n.cmd.Process.Signal(s)
	if !wait {
		return
	}
	select {
	case <-n.done:
	case <-time.After(time.Minute):
		_ = n.cmd.Process.Kill()
		n.world.t.Errorf("node %d did not end within a minute of %v", n.index, s)
	}
}

// Eventually asks again until fn is content. It waits a minute, which is a
// limit for a broken program, not a measure of a working one.
func Eventually(t testing.TB, what string, fn func() error) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		err := fn()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s: %v", what, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

var built struct {
	once sync.Once
	path string
	err  error
}

// Binary returns the program, built once per test process with the race
// detector, or the one that CASTALIA_BINARY names.
func Binary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("CASTALIA_BINARY"); path != "" { // asked anew: a benchmark names its own, which goes with it
		return path
	}
	built.once.Do(func() { built.path, built.err = build() })
	if built.err != nil {
		t.Fatalf("build the program: %v", built.err)
	}
	return built.path
}

func build() (string, error) {
	root, err := exec.CommandContext(context.Background(), "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	dir, err := os.MkdirTemp("", "castalia-system-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "castalia")
	return path, Build(context.Background(), strings.TrimSpace(string(root)), path)
}

// Build makes the program of a tree, with the race detector as the Makefile uses it, or as
// people get it where CASTALIA_BINARY is one of those.
func Build(ctx context.Context, tree, path string, flags ...string) error {
	args := []string{"build", "-o", path}
	if os.Getenv("CASTALIA_BINARY") == "" {
		args = append(args, "-race", "-gcflags=modernc.org/...=-race=false")
	}
	cmd := exec.CommandContext(ctx, "go", append(append(args, flags...), "./cmd/castalia")...)
	cmd.Dir = tree
	if text, err := cmd.CombinedOutput(); err != nil {
		return errors.Join(err, errors.New(string(text)))
	}
	return nil
}
