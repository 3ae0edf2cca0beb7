//go:build linux

package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/test/servers"
)

const (
	accessKey  = "test"
	secretKey  = "testsecret"
	bucket     = "castalia"
	diskSize   = 224 // megabytes
	natsPort   = "4222"
	objectPort = "7070"
	pgPort     = "5432"
	// natsChild tells this very program to be a NATS server, and where.
	natsChild = "CASTALIA_FAULTS_NATS"
)

// dialable is a readiness check: somebody listens there.
func (w *World) dialable(host, port string) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := w.stage.dial(ctx, "tcp", net.JoinHostPort(w.stage.hosts[host], port))
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

// cluster is where a PostgreSQL keeps its data, and as whom it runs.
type cluster struct {
	bin, host, data, sockets string
	as                       *syscall.Credential
}

// newCluster gives a PostgreSQL a disk of its own and empty folders.
func (w *World) newCluster(host string) (*cluster, error) {
	bin, err := servers.PostgresBin()
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(filepath.Join(bin, "initdb")); err == nil {
		bin = filepath.Dir(real) // the other programs are beside it
	}
	w.disks[host] = filepath.Join(w.dir, "disk-"+host)
	if err := w.stage.disk(w.disks[host], diskSize); err != nil {
		return nil, err
	}
	c := &cluster{
		bin: bin, host: host, data: filepath.Join(w.disks[host], "cluster"), sockets: filepath.Join(w.dir, "sockets-"+host),
	}
	return c, w.stage.do(host, func() error {
		for _, dir := range []string{c.data, c.sockets} {
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			if c.as, err = servers.Unprivileged(w.dir, dir); err != nil {
				return err
			}
		}
		return os.Chmod(c.sockets, 0o755)
	})
}

// run runs one of PostgreSQL's programs on the cluster, in its network.
func (w *World) run(ctx context.Context, c *cluster, name string, args ...string) error {
	return w.stage.do(c.host, func() error {
		cmd := exec.CommandContext(ctx, filepath.Join(c.bin, name), append([]string{"-D", c.data}, args...)...)
		cmd.Dir, cmd.SysProcAttr = c.data, &syscall.SysProcAttr{Credential: c.as}
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", name, err, said)
		}
		return nil
	})
}

// serve describes the server of a cluster. It is synced as an operator's would
// be: what was acknowledged before a crash must be there after it.
func (w *World) serve(ctx context.Context, c *cluster) *process {
	p := &process{stage: w.stage, name: c.host, log: filepath.Join(w.dir, "postgres-"+c.host+".log")}
	p.ready = func(ctx context.Context) error { return answers(ctx, c.socketURL("postgres")) }
	p.command = func() *exec.Cmd {
		args := []string{"-D", c.data, "-p", pgPort}
		for _, s := range []string{
			"listen_addresses=" + w.stage.hosts[c.host], "unix_socket_directories=" + c.sockets,
			"max_connections=200", "max_wal_size=64MB", "shared_buffers=32MB",
			// A client that vanished must not hold locks for hours.
			"tcp_keepalives_idle=2", "tcp_keepalives_interval=1", "tcp_keepalives_count=3", "tcp_user_timeout=5000",
		} {
			args = append(args, "-c", s)
		}
		cmd := exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(c.bin, "postgres"), args...)
		cmd.Dir, cmd.SysProcAttr = c.data, &syscall.SysProcAttr{Credential: c.as}
		return cmd
	}
	return p
}

func (c *cluster) socketURL(name string) string {
	return "postgres://castalia@/" + name + "?host=" + url.QueryEscape(c.sockets)
}

// postgres makes a cluster and serves it.
func (w *World) postgres(ctx context.Context) (*process, error) {
	c, err := w.newCluster(database)
	if err != nil {
		return nil, err
	}
	err = w.run(ctx, c, "initdb", "-U", "castalia", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync")
	if err != nil {
		return nil, err
	}
	err = w.stage.do(database, func() error {
		hba, err := os.OpenFile(filepath.Join(c.data, "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(hba, "host all all %[1]s0/24 trust\nhost replication all %[1]s0/24 trust\n", subnet)
		return errors.Join(err, hba.Close())
	})
	if err != nil {
		return nil, err
	}
	w.primary = c
	w.useDatabase("postgres")
	p := w.serve(ctx, c)
	return p, p.up(ctx)
}

// useDatabase makes one database of the server the fleet's.
func (w *World) useDatabase(name string) {
	w.databaseURL = "postgres://castalia@" + w.stage.hosts[database] + ":" + pgPort + "/" + name + "?sslmode=disable"
	w.socketURL = w.primary.socketURL(name)
}

// useBucket makes one bucket the fleet's. The S3 server keeps them as folders.
func (w *World) useBucket(name string) {
	w.blobURL = fmt.Sprintf("s3://%s?endpoint=http://%s:%s&region=us-east-1&path_style=true", name, w.stage.hosts[objects], objectPort)
}

// answers asks a database over its socket in the file system, which no partition
// reaches.
func answers(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	db, err := sqldb.Open(ctx, address, sqldb.Options{})
	if err != nil {
		return err
	}
	return db.Close()
}

// s3 starts versitygw on a disk of its own and makes the bucket.
func (w *World) s3(ctx context.Context) (*process, error) {
	program, err := servers.Versitygw()
	if err != nil {
		return nil, err
	}
	if err := w.stage.disk(w.disks[objects], diskSize); err != nil {
		return nil, err
	}
	root := filepath.Join(w.disks[objects], "root")
	args := []string{
		"--port", net.JoinHostPort(w.stage.hosts[objects], objectPort), "--iam-dir",
		filepath.Join(w.disks[objects], "iam"), "--quiet", "posix",
	}
	err = w.stage.do(objects, func() error {
		for _, dir := range []string{"root", "root/" + bucket, "iam", "attributes"} {
			if err := os.Mkdir(filepath.Join(w.disks[objects], dir), 0o700); err != nil {
				return err
			}
		}
		if !servers.KeepsAttributes(root) {
			args = append(args, "--sidecar", filepath.Join(w.disks[objects], "attributes"))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	w.useBucket(bucket)
	p := &process{stage: w.stage, name: objects, log: filepath.Join(w.dir, "s3.log"), ready: w.dialable(objects, objectPort)}
	p.command = func() *exec.Cmd {
		cmd := exec.CommandContext(context.WithoutCancel(ctx), program, append(args, root)...)
		cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+accessKey, "ROOT_SECRET_KEY="+secretKey)
		return cmd
	}
	return p, p.up(ctx)
}

// nats starts this program again, as a NATS server.
func (w *World) nats(ctx context.Context) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w.natsURL = "nats://" + net.JoinHostPort(w.stage.hosts[bus], natsPort)
	p := &process{stage: w.stage, name: bus, log: filepath.Join(w.dir, "nats.log"), ready: w.dialable(bus, natsPort)}
	p.command = func() *exec.Cmd {
		cmd := exec.CommandContext(context.WithoutCancel(ctx), self)
		cmd.Env = append(os.Environ(), natsChild+"="+w.stage.hosts[bus])
		return cmd
	}
	return p, p.up(ctx)
}

// BeChild makes this process what it was started as, if it is a child of a
// world: a NATS server for as long as it lives, or a reader of a database. Test
// binaries call it first.
func BeChild() {
	beReader()
	host := os.Getenv(natsChild)
	if host == "" {
		return
	}
	s, err := server.NewServer(&server.Options{Host: host, Port: 4222, NoLog: true, NoSigs: true})
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s.Start()
	select {}
}

// node describes a node of the fleet.
func (w *World) node(i int) *process {
	name := nodeName(i)
	address := "http://" + net.JoinHostPort(w.stage.hosts[name], "3000")
	p := &process{stage: w.stage, name: name, log: filepath.Join(w.dir, name+".log")}
	p.command = func() *exec.Cmd {
		cmd := exec.Command(w.binary[i], "serve")
		cmd.Dir = filepath.Join(w.dir, name)
		cmd.Env = append(w.env(), "PORT=3000", "NODE_URL="+address)
		if !w.alone {
			cmd.Env = append(cmd.Env, "CASTALIA_DATA="+filepath.Join(cmd.Dir, "data"))
		}
		if offset := w.clock(i); offset != 0 {
			cmd.Env = append(cmd.Env, fmt.Sprintf("TEST_CLOCK_OFFSET_SECONDS=%d", int(offset.Seconds())))
		}
		return cmd
	}
	p.ready = func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		return w.get(ctx, address+"/ready")
	}
	return p
}

func (w *World) get(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	response, err := w.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}

// env is what every node and every command of the program is started with.
func (w *World) env() []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "LOG_FORMAT=json", "LOG_LEVEL=debug", "CASTALIA_ENV=test",
		"RATE_LIMIT_PER_MINUTE=0", "PRINCIPAL_RATE_LIMIT_PER_MINUTE=0",
		"REVOCATION_RATE_LIMIT_PER_MINUTE=0", "REVOCATION_TOTAL_PER_MINUTE=0", "DRAIN_DELAY=100ms",
		"MODEL_PROVIDER=openai", "OPENAI_BASE_URL=" + w.model.url, "OPENAI_API_KEY=sk-test", "MODEL=speaker",
		"FEATURES=credits=true", "CREDITS_SECRET=" + creditsSecret, "CREDITS_HOLD=1m",
	}
	if w.alone {
		return append(env, "CASTALIA_DATA="+w.data)
	}
	return append(
		env, "DATABASE_URL="+w.databaseURL, "BLOB_URL="+w.blobURL, "NATS_URL="+w.natsURL,
		"AWS_ACCESS_KEY_ID="+accessKey, "AWS_SECRET_ACCESS_KEY="+secretKey,
		"ORACLE_KEY="+strings.Repeat("01", 32), "PIN_ENCRYPTION_KEY="+strings.Repeat("02", 32), "FILES_MASTER_KEY="+strings.Repeat("03", 32),
	)
}
