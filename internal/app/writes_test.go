package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/app/probe"
	"github.com/castalia-org/castalia/internal/app/pulse"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/platform/words"
	"github.com/castalia-org/castalia/test/servers"
	"github.com/castalia-org/castalia/test/testenv"
)

// run lets the program run until the test ends.
func (w *world) run(t *testing.T) *world {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the program ended with %v", err)
		}
	})
	w.awaitReady(t)
	return w
}

// ownPostgres starts a server whose settings are this test's alone.
func ownPostgres(t *testing.T) (address string) {
	t.Helper()
	bin, err := servers.PostgresBin()
	if err != nil {
		testenv.Need(t, "initdb")
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "castalia-writes-") // whoever is not root passes through it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	as, err := servers.Unprivileged(dir, data)
	if err != nil {
		t.Fatal(err)
	}
	make := exec.CommandContext(t.Context(), filepath.Join(bin, "initdb"), "-D", data, "-U", "castalia", "--auth=trust",
		"--encoding=UTF8", "--locale=C.UTF-8", "--no-sync")
	make.Dir, make.SysProcAttr = data, &syscall.SysProcAttr{Credential: as}
	if said, err := make.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, said)
	}
	port := testenv.Port(t)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(bin, "postgres"), "-D", data, "-p",
		fmt.Sprint(port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "log_min_messages=panic")
	cmd.Dir, cmd.SysProcAttr = data, &syscall.SysProcAttr{Credential: as}
	cmd.WaitDelay = 20 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // it ends its children, then itself
		_ = cmd.Process.Signal(syscall.SIGQUIT)
		hard := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		defer hard.Stop()
		_ = cmd.Wait()
	})
	address = fmt.Sprintf("postgres://castalia@127.0.0.1:%d/postgres?sslmode=disable", port)
	eventually(t, "PostgreSQL answers", func() error {
		db, err := sqldb.Open(t.Context(), address, sqldb.Options{})
		if err != nil {
			return err
		}
		return db.Close()
	})
	return address
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for {
		err := holds()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		case <-look.C:
		}
	}
}

// probed holds an answer of /ready against what it should be.
func (w *world) probed(t *testing.T, target string, status int, part, state string) error {
	t.Helper()
	got := w.send(t, request{method: http.MethodGet, target: target, may: []string{"503"}})
	var body probe.Readiness
	if err := json.Unmarshal(got.Body.Bytes(), &body); err != nil || got.Code != status || body.Checks[part] != state ||
		body.Ready != (status == http.StatusOK) {
		return fmt.Errorf("%s: %d %s, want %d with %s %q", target, got.Code, got.Body, status, part, state)
	}
	return nil
}

// stuck holds every probe, the metric and the cause against a database that
// answers and takes no writes.
func (w *world) stuck(t *testing.T, why string) {
	t.Helper()
	eventually(t, "/ready notices", func() error { return w.probed(t, "/ready", http.StatusServiceUnavailable, "writes", "not ready") })
	for _, part := range []string{"writes", "filestore", "oracle", "ussd", "knowledge", "webhooks"} {
		eventually(t, part, func() error {
			return w.probed(t, "/ready/"+part, http.StatusServiceUnavailable, part, "not ready")
		})
	}
	for _, part := range []string{"database", "query"} { // what reads alone goes on
		eventually(t, part, func() error { return w.probed(t, "/ready/"+part, http.StatusOK, part, "ok") })
	}
	var causes []string
	for _, p := range w.watchCauses(t.Context()).Report(t.Context(), words.Shipped().English()).Parts {
		for _, c := range p.Causes {
			causes = append(causes, p.Name+" health."+c.Code)
		}
	}
	if !strings.Contains(strings.Join(causes, "\n"), "database "+why) {
		t.Errorf("causes %q, want %q", causes, why)
	}
	if !strings.Contains(w.metrics(t), "castalia_database_writes_stuck 1\n") {
		t.Error("no metric tells it")
	}
}

func (w *world) metrics(t *testing.T) string {
	t.Helper()
	return w.send(t, request{
		method: http.MethodGet, target: "/metrics", from: "127.0.0.1:4000", host: "localhost", may: []string{"see"},
	}).Body.String()
}

// TestReadinessNoticesThatCommitsFail has SQLite refuse every commit.
func TestReadinessNoticesThatCommitsFail(t *testing.T) {
	t.Parallel()
	var disk sqldbtest.Breaker
	w := build(t, func(o *Options) { o.fault = disk.Fault }).run(t)
	disk.FailCommits(1 << 40)
	eventually(t, "/ready/writes notices", func() error {
		return w.probed(t, "/ready/writes", http.StatusServiceUnavailable, "writes", "not ready")
	})
	if !strings.Contains(w.metrics(t), "castalia_database_writes_stuck 1\n") {
		t.Error("no metric tells it")
	}
	disk.FailCommits(0)
	eventually(t, "/ready notices the end", func() error { return w.probed(t, "/ready", http.StatusOK, "writes", "ok") })
}

// TestReadinessNoticesThatCommitsHang takes the synchronous standby away: the server
// answers every question, and no commit returns.
func TestReadinessNoticesThatCommitsHang(t *testing.T) {
	t.Parallel()
	address, key := ownPostgres(t), strings.Repeat("0a", 32)
	w := open(t, "ORACLE_KEY", key, "PIN_ENCRYPTION_KEY", key, "FILES_MASTER_KEY", key, "DATABASE_URL", address)
	if err := w.probed(t, "/ready/filestore", http.StatusOK, "filestore", "ok"); err != nil {
		t.Error(err)
	}
	admin := sqldbtest.Open(t, address, sqldb.Options{})
	standby := func(name string) {
		t.Helper()
		for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = '" + name + "'", "SELECT pg_reload_conf()"} {
			if _, err := admin.WriteOne(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
	}
	standby("nobody")
	w.stuck(t, pulse.Hangs)
	standby("")
	eventually(t, "/ready notices the end", func() error { return w.probed(t, "/ready", http.StatusOK, "writes", "ok") })
	eventually(t, "so does the part", func() error { return w.probed(t, "/ready/filestore", http.StatusOK, "filestore", "ok") })
	if !strings.Contains(w.metrics(t), "castalia_database_writes_stuck 0\n") {
		t.Error("the metric still tells it")
	}
}
