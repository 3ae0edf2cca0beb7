package system_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/test/servers"
	"github.com/castalia-org/castalia/test/system"
	"github.com/castalia-org/castalia/test/testenv"
)

// replica is a PostgreSQL of a pair.
type replica struct {
	t    *testing.T
	bin  string
	data string
	port int
	as   *syscall.Credential
	cmd  *exec.Cmd
}

func newReplica(t *testing.T) *replica {
	t.Helper()
	bin, err := servers.PostgresBin()
	if err != nil {
		testenv.Need(t, "initdb")
		t.Fatal(err)
	}
	if real, err := filepath.EvalSymlinks(filepath.Join(bin, "initdb")); err == nil {
		bin = filepath.Dir(real) // the other programs are beside it, and need no links
	}
	dir, err := os.MkdirTemp("", "castalia-pair-") // whoever is not root passes through it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r := &replica{t: t, bin: bin, data: filepath.Join(dir, "data"), port: testenv.Port(t)}
	if err := os.Mkdir(r.data, 0o700); err != nil {
		t.Fatal(err)
	}
	if r.as, err = servers.Unprivileged(dir, r.data); err != nil {
		t.Fatal(err)
	}
	return r
}

// run runs one of PostgreSQL's programs to its end.
func (r *replica) run(name string, args ...string) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), filepath.Join(r.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = r.data, &syscall.SysProcAttr{Credential: r.as}
	if said, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("%s: %v\n%s", name, err, said)
	}
}

// start starts the server in a process group of its own.
func (r *replica) start(settings ...string) {
	r.t.Helper()
	args := []string{"-D", r.data, "-p", strconv.Itoa(r.port)}
	for _, s := range append([]string{"listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "log_min_messages=panic"}, settings...) {
		args = append(args, "-c", s)
	}
	r.cmd = exec.CommandContext(context.WithoutCancel(r.t.Context()), filepath.Join(r.bin, "postgres"), args...)
	r.cmd.Dir, r.cmd.SysProcAttr = r.data, &syscall.SysProcAttr{Credential: r.as, Setpgid: true}
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if r.cmd.ProcessState == nil {
			_ = r.reach(syscall.SIGKILL) // who is frozen sees no parent end
		}
		_ = r.cmd.Wait()
	})
}

// signal reaches every process of the server.
func (r *replica) signal(s syscall.Signal) {
	r.t.Helper()
	if err := r.reach(s); err != nil {
		r.t.Fatal(err)
	}
}

// reach is signal. Each process is in a group of its own.
func (r *replica) reach(s syscall.Signal) error {
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", r.cmd.Process.Pid, r.cmd.Process.Pid))
	_ = r.cmd.Process.Signal(s)
	for child := range strings.FieldsSeq(string(children)) {
		if pid, err := strconv.Atoi(child); err == nil {
			_ = syscall.Kill(pid, s)
		}
	}
	return err
}

func (r *replica) address() string {
	return fmt.Sprintf("postgres://castalia@127.0.0.1:%d/postgres?sslmode=disable", r.port)
}

// newPair is a primary with a synchronous standby.
func newPair(t *testing.T) (primary, standby *replica) {
	t.Helper()
	testenv.Need(t, "s3")
	primary, standby = newReplica(t), newReplica(t)
	primary.run("initdb", "-D", primary.data, "-U", "castalia", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync")
	primary.start("synchronous_standby_names=ANY 1 (*)")
	system.Eventually(t, "the primary is up", func() error {
		db, err := sqldb.Open(t.Context(), primary.address(), sqldb.Options{})
		if err != nil {
			return err
		}
		return db.Close()
	})
	standby.run("pg_basebackup", "-h", "127.0.0.1", "-p", strconv.Itoa(primary.port), "-U", "castalia", "-D", standby.data,
		"-R", "--checkpoint=fast", "--no-sync")
	standby.start("synchronous_standby_names=")
	return primary, standby
}

// guideAddress is the address that the guide shows, for other servers.
func guideAddress(t *testing.T, primary, standby *replica) string {
	t.Helper()
	guide, err := os.ReadFile("../../docs/guides/high-availability.md")
	if err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`(?m)^    DATABASE_URL=(\S+)$`).FindSubmatch(guide)
	if address == nil {
		t.Fatal("the guide shows no address")
	}
	return strings.NewReplacer("db1:5432", fmt.Sprintf("127.0.0.1:%d", primary.port), "db2:5432",
		fmt.Sprintf("127.0.0.1:%d", standby.port), "/castalia?", "/postgres?").Replace(string(address[1]))
}

// TestAStandbyTakesOver loses the primary of a fleet in two ways. Callers go on
// where they were, since what was acknowledged is on the standby; a node that is
// started then finds the promoted one by itself.
func TestAStandbyTakesOver(t *testing.T) {
	t.Parallel()
	for name, loss := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "frozen": syscall.SIGSTOP} {
		for _, word := range []string{"read-write", "primary"} {
			t.Run(name+" "+word, func(t *testing.T) {
				t.Parallel()
				primary, standby := newPair(t)
				address := strings.Replace(guideAddress(t, primary, standby), "read-write", word, 1)
				w := system.Prepare(t, system.Fleet, "DATABASE_URL="+address)
				late := w.Nodes[len(w.Nodes)-1]
				early := w.Nodes[:len(w.Nodes)-1]
				for _, n := range early {
					n.Start()
				}
				for _, n := range early {
					n.WaitReady()
				}
				line := &telephone{world: &system.World{Nodes: early[:1]}}
				if said, err := line.Send(t.Context(), "s1", "*2233#", "+254700555123", ""); err != nil || !strings.HasPrefix(said, "CON Welcome") {
					t.Fatalf("%q, %v", said, err)
				}
				primary.signal(loss)
				began := time.Now()
				standby.run("pg_ctl", "promote", "-D", standby.data)
				t.Logf("promoted after %s", time.Since(began).Round(time.Millisecond))
				late.Start()
				system.Eventually(t, "callers go on where they were", func() error {
					said, err := line.Send(t.Context(), "s1", "*2233#", "+254700555123", "2")
					if err == nil && (!strings.HasPrefix(said, "CON ") || strings.Contains(said, "Welcome")) {
						err = fmt.Errorf("%q", said)
					}
					return err
				})
				t.Logf("served again after %s", time.Since(began).Round(time.Millisecond))
				late.WaitReady()
				for _, n := range w.Nodes {
					system.Eventually(t, "every node is ready", n.Ready)
				}
			})
		}
	}
}
