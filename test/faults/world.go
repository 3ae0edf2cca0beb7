//go:build linux

package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

const (
	// patience is a limit for what is broken, not a measure of what works.
	patience      = 90 * time.Second
	creditsSecret = "operators only"
	fleetSize     = 3
)

// World is a fleet with everything that it stands on.
type World struct {
	stage  *stage
	dir    string
	disks  map[string]string
	client *http.Client
	model  *speaker
	// binary is the program of each node.
	binary []string
	// alone is one node on a data folder of its own, without servers; paired is a fleet
	// whose database has a standby.
	alone, paired bool

	databaseURL, socketURL, blobURL, natsURL string
	data                                     string   // of the one node
	primary, second                          *cluster // the PostgreSQL that is written to, and its standby if it has one

	servers map[string]*process
	nodes   []*process

	mu     sync.Mutex
	began  time.Time
	clocks map[int]time.Duration
	story  []string
}

// NewWorld starts a fleet of the program in a folder, a node for each binary.
func NewWorld(ctx context.Context, dir string, binary []string) (*World, error) {
	return newWorld(ctx, dir, binary, fleet)
}

// NewAlone starts one node on a data folder.
func NewAlone(ctx context.Context, dir, binary string) (*World, error) {
	return newWorld(ctx, dir, []string{binary}, single)
}

// shape is what nodes stand on.
type shape int

const (
	fleet  shape = iota
	pair         // a fleet whose database has a standby
	single       // one node on a data folder
)

func newWorld(ctx context.Context, dir string, binary []string, kind shape) (_ *World, err error) {
	w := &World{
		dir: dir, binary: binary, alone: kind == single, paired: kind == pair, model: &speaker{pace: 25 * time.Millisecond},
		began: time.Now(), clocks: map[int]time.Duration{},
		disks:   map[string]string{objects: filepath.Join(dir, "disk-objects"), nodeName(0): filepath.Join(dir, "disk-node")},
		servers: map[string]*process{},
	}
	if w.stage, err = newStage(ctx, len(binary)); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	w.client = &http.Client{Transport: &http.Transport{DialContext: w.stage.dial, DisableKeepAlives: true}}
	listener, err := w.stage.listen(ctx)
	if err != nil {
		return nil, err
	}
	w.model.url = "http://" + listener.Addr().String()
	go func() { _ = (&http.Server{Handler: w.model, ReadHeaderTimeout: time.Minute}).Serve(listener) }()
	if err := w.startServers(ctx); err != nil {
		return nil, err
	}
	for i := range binary {
		n := w.node(i)
		w.nodes = append(w.nodes, n)
		if err := os.MkdirAll(filepath.Join(dir, n.name), 0o755); err != nil {
			return nil, err
		}
	}
	return w, w.startNodes(ctx)
}

func (w *World) startServers(ctx context.Context) (err error) {
	if w.alone {
		w.live(filepath.Join(w.disks[nodeName(0)], "data"))
		return w.stage.disk(w.disks[nodeName(0)], diskSize)
	}
	for _, s := range []struct {
		name  string
		start func(context.Context) (*process, error)
	}{{database, w.postgres}, {objects, w.s3}, {bus, w.nats}} {
		if w.servers[s.name], err = s.start(ctx); err != nil {
			return err
		}
	}
	if w.paired {
		return w.replicate(ctx)
	}
	return nil
}

// live makes a folder the place of a node that is alone.
func (w *World) live(folder string) {
	w.data, w.socketURL = folder, "sqlite:"+filepath.Join(folder, sqldb.FileName)
}

// startNodes starts all nodes at once and waits for all.
func (w *World) startNodes(ctx context.Context) error {
	for _, n := range w.nodes {
		if err := n.start(); err != nil {
			return err
		}
	}
	for _, n := range w.nodes {
		if err := n.await(ctx); err != nil {
			return err
		}
	}
	w.Tell("everything runs")
	return nil
}

// Close ends everything.
func (w *World) Close() {
	for _, p := range w.nodes {
		_ = p.end(syscall.SIGKILL)
	}
	for _, p := range w.servers {
		if p != nil {
			_ = p.signalAll(syscall.SIGCONT)
			_ = p.end(syscall.SIGKILL)
		}
	}
	w.stage.close()
}

// Tell adds a line to the history.
func (w *World) Tell(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.story = append(w.story, fmt.Sprintf("%7.2fs  ", time.Since(w.began).Seconds())+fmt.Sprintf(format, args...))
}

// Story is the history so far.
func (w *World) Story() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.story, "\n")
}

func (w *World) clock(node int) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clocks[node]
}

// url is the address of a node.
func (w *World) url(node int) string {
	return "http://" + w.stage.hosts[nodeName(node%len(w.nodes))] + ":3000"
}

// command runs one command of the program at the hub and returns what it said.
func (w *World) command(ctx context.Context, binary string, env []string, args ...string) (string, error) {
	var out strings.Builder
	var cmd *exec.Cmd
	err := w.stage.do(hub, func() error {
		cmd = exec.CommandContext(ctx, binary, args...)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = w.dir, env, &out, &out
		return cmd.Start()
	})
	if err != nil {
		return "", err
	}
	err = cmd.Wait()
	return out.String(), err
}

// reply is an answer, read whole.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// ask sends one request and says what its sender may believe: an answer of
// success is a promise, one of refusal too; all else is unknown, unless the
// request never left.
func (w *World) ask(ctx context.Context, node int, method, path string, header http.Header,
	body io.Reader,
) (reply, Told, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, w.url(node)+path, body)
	if err != nil {
		return reply{}, Refused, err
	}
	maps.Copy(request.Header, header)
	response, err := w.client.Do(request)
	if err != nil {
		return reply{}, unanswered(err), err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	r := reply{response.StatusCode, response.Header, text}
	switch {
	case err != nil:
		return r, Unknown, err
	case r.status < 300:
		return r, Acknowledged, nil
	case r.status < 500:
		return r, Refused, fmt.Errorf("%d: %s", r.status, text)
	}
	return r, Unknown, fmt.Errorf("%d: %s", r.status, text)
}

// unanswered tells a request that never left from one whose fate nobody knows.
func unanswered(err error) Told {
	if failed, ok := errors.AsType[*net.OpError](err); ok && failed.Op == "dial" {
		return Refused
	}
	return Unknown
}

// pause waits for about so long.
func pause(ctx context.Context, d time.Duration) { wait(ctx, d/2+rand.N(d)) }

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
