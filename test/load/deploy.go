package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/castalia-org/castalia/internal/platform/sqldb/pgadmin"
	"github.com/castalia-org/castalia/internal/service/query/localchain"
	"github.com/castalia-org/castalia/test/servers"
	"github.com/castalia-org/castalia/test/testenv"
)

const (
	startLimit = time.Minute
	seedClaims = 100
)

// place is a running deployment.
type place struct {
	urls  []string
	nodes []*node // those that this run started
	// database is the address of a fleet's.
	database string
	own      []measured // processes that were started or found, for watch
	dir      string
	cleanup  []func() // in the order of their making
}

// deploy starts what the settings ask for and returns when it is ready.
func deploy(ctx context.Context, s settings, say func(string, ...any)) (*place, error) {
	p := &place{urls: s.urls}
	if len(s.urls) > 0 {
		return p, p.awaitAll(ctx)
	}
	dir, err := os.MkdirTemp("", "castalia-load-")
	if err != nil {
		return nil, err
	}
	p.dir = dir
	p.cleanup = append(p.cleanup, func() { _ = os.RemoveAll(dir) })
	if err := p.start(ctx, s, say); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

func (p *place) start(ctx context.Context, s settings, say func(string, ...any)) error {
	binary, err := p.binary(ctx, s.binary, say)
	if err != nil {
		return err
	}
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "HOST=127.0.0.1", "CASTALIA_ENV=test", "LOG_LEVEL=warn", "LOG_FORMAT=json",
		"RATE_LIMIT_PER_MINUTE=0", "PRINCIPAL_RATE_LIMIT_PER_MINUTE=0", "MAX_REQUESTS_UNDER_WAY=0", "USSD_SESSION_TTL=2h",
	}
	if s.shape == "fleet" {
		more, err := p.fleet(ctx)
		if err != nil {
			return err
		}
		env = append(env, more...)
	}
	env = append(env, s.env...)
	for i := range s.nodes {
		if err := p.node(ctx, i, binary, env); err != nil {
			return err
		}
	}
	say("%d node(s), %s: %s", s.nodes, s.shape, strings.Join(p.urls, " "))
	return p.awaitAll(ctx)
}

// binary returns the program, built as it is shipped unless one is named.
func (p *place) binary(ctx context.Context, named string, say func(string, ...any)) (string, error) {
	if named != "" {
		return filepath.Abs(named)
	}
	say("building the program")
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	path := filepath.Join(p.dir, "castalia")
	build := exec.CommandContext(ctx, "go", "build", "-o", path, "./cmd/castalia")
	build.Dir = strings.TrimSpace(string(root))
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, text)
	}
	return path, nil
}

// fleet makes a database, a bucket and a bus of the run's own.
func (p *place) fleet(ctx context.Context) ([]string, error) {
	databases := os.Getenv("TEST_POSTGRES_URL")
	if databases == "" || os.Getenv("TEST_S3_URL") == "" {
		return nil, errors.New("the fleet needs TEST_POSTGRES_URL and TEST_S3_URL: run it by `go run ./test/services -- …`")
	}
	name := "castalia_load_" + testenv.Token()
	var err error
	if p.database, err = pgadmin.Create(ctx, databases, name); err != nil {
		return nil, err
	}
	p.cleanup = append(p.cleanup, func() { _ = pgadmin.Drop(context.WithoutCancel(ctx), databases, name) })
	p.own = append(p.own, measured{name: database, private: true, pids: func() []int { return withArgument(name) }})
	bucket, remove, err := testenv.NewBucket(ctx)
	if err != nil {
		return nil, err
	}
	p.cleanup = append(p.cleanup, func() { _ = remove(context.WithoutCancel(ctx)) })
	if at, err := url.Parse(bucket.Endpoint); err == nil {
		p.own = append(p.own, measured{name: "s3", pids: sync.OnceValue(func() []int { return listeningOn(at.Port()) })})
	}
	nats, err := p.nats(ctx)
	if err != nil {
		return nil, err
	}
	return []string{
		"DATABASE_URL=" + p.database, "BLOB_URL=" + bucket.URL(), "AWS_ACCESS_KEY_ID=" + bucket.AccessKey,
		"AWS_SECRET_ACCESS_KEY=" + bucket.SecretKey, "NATS_URL=" + nats,
		"ORACLE_KEY=" + key(1), "PIN_ENCRYPTION_KEY=" + key(2), "FILES_MASTER_KEY=" + key(3),
	}, nil
}

// key is a key of the run; it guards nothing.
func key(n byte) string { return hex.EncodeToString(bytes.Repeat([]byte{n}, 32)) }

// nats starts this program again as a NATS server, so that the bus has a
// process, and figures, of its own.
func (p *place) nats(ctx context.Context) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), self, "nats")
	cmd.Env = append(os.Environ(), natsAgain+"=1")
	input, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	c, err := launch(cmd, "nats", func() { _ = input.Close() })
	if err != nil {
		return "", err
	}
	p.own = append(p.own, measured{name: "nats", pids: func() []int { return []int{c.pid} }})
	p.cleanup = append(p.cleanup, c.end)
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("start NATS: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// natsAgain tells a test binary that it was started to be the NATS server.
const natsAgain = "CASTALIA_LOAD_NATS"

// serveNATS is the process that nats starts. It ends with its input.
func serveNATS(ctx context.Context, stdout io.Writer) error {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true})
	if err != nil {
		return err
	}
	s.Start()
	defer s.Shutdown()
	if !s.ReadyForConnections(startLimit) {
		return errors.New("NATS did not start")
	}
	_, _ = fmt.Fprintln(stdout, s.ClientURL())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	select {
	case <-gone:
	case <-ctx.Done():
	}
	return nil
}

// node starts one process of the program, with a chain of a hundred claims.
func (p *place) node(ctx context.Context, i int, binary string, env []string) error {
	data := filepath.Join(p.dir, fmt.Sprintf("node-%d", i))
	number, free, err := servers.Port()
	if err != nil {
		return err
	}
	p.cleanup = append(p.cleanup, free)
	port := strconv.Itoa(number)
	address := "http://127.0.0.1:" + port
	p.urls = append(p.urls, address)
	env = append(slices.Clip(env), "CASTALIA_DATA="+data, "PORT="+port, "NODE_URL="+address) // each node has its own
	seed, err := json.Marshal(map[string]any{"claims": claimRecords()})
	if err != nil {
		return err
	}
	if _, err := localchain.Import(ctx, filepath.Join(data, localchain.SeedFile), seed); err != nil {
		return fmt.Errorf("seed the chain: %w", err)
	}
	n := &node{
		name: fmt.Sprintf("node %d", i), binary: binary, env: env, dir: p.dir,
		log: filepath.Join(p.dir, fmt.Sprintf("node-%d.log", i)),
	}
	if err := n.begin(ctx); err != nil {
		return err
	}
	p.nodes = append(p.nodes, n)
	p.own = append(p.own, measured{name: n.name, pids: n.pids})
	p.cleanup = append(p.cleanup, func() { n.child.end() })
	return nil
}

// node is one process of the program, which may be started again.
type node struct {
	name, binary, dir, log string
	env                    []string
	child                  *child
}

func (n *node) pids() []int { return []int{n.child.pid} }

// begin starts the process; what it says is added to its log.
func (n *node) begin(ctx context.Context) error {
	log, err := os.OpenFile(n.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), n.binary, "serve")
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.Dir = n.env, log, log, n.dir
	n.child, err = launch(cmd, n.name, func() { _ = cmd.Process.Signal(os.Interrupt) })
	return err
}

// again lets the process finish and starts another on the same data and port.
func (n *node) again(ctx context.Context) error {
	n.child.end()
	return n.begin(ctx)
}

func claimRecords() []map[string]any {
	list := make([]map[string]any, seedClaims)
	for i := range list {
		list[i] = map[string]any{
			"collection_id": "1", "claim_id": claimID(i), "agent_did": "did:ixo:alice",
			"agent_address": "ixo19dh2w7nuy4gcezzepz905dncag7gwas5htymxl", "submission_date": "2026-01-01T00:00:00Z",
		}
	}
	return list
}

func claimID(i int) string { return fmt.Sprintf("load-claim-%04d", i) }

// child is a process that ends with this one at the latest.
type child struct {
	pid   int
	ask   func() // tells it to end
	kill  func() error
	ended chan struct{}
}

func launch(cmd *exec.Cmd, name string, ask func()) (*child, error) {
	servers.DieWithUs(cmd, syscall.SIGKILL)
	started := make(chan error)
	c := &child{ask: ask, ended: make(chan struct{})}
	go func() {
		// The kernel ends the child when the thread that started it is gone.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(c.ended)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	c.pid, c.kill = cmd.Process.Pid, cmd.Process.Kill
	return c, nil
}

// end asks the process to end, waits, and insists in the end.
func (c *child) end() {
	c.ask()
	select {
	case <-c.ended:
	case <-time.After(startLimit):
		_ = c.kill()
		<-c.ended
	}
}

// stop ends what was started, in the reverse order.
func (p *place) stop() {
	for _, undo := range slices.Backward(p.cleanup) {
		undo()
	}
	p.cleanup = nil
}

// awaitAll returns when every node is ready.
func (p *place) awaitAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for i, address := range p.urls {
		for {
			err := ready(ctx, address)
			if err == nil {
				break
			}
			select {
			case <-ctx.Done():
				said, _ := os.ReadFile(filepath.Join(p.dir, fmt.Sprintf("node-%d.log", i)))
				return fmt.Errorf("%s is not ready: %w\n%s", address, err, said)
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	return nil
}

func ready(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/ready", http.NoBody)
	if err != nil {
		return err
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = reply.Body.Close() }()
	if reply.StatusCode != http.StatusOK {
		return errors.New(reply.Status)
	}
	return nil
}
