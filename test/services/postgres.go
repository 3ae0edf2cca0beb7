package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/test/servers"
)

// unsynced has PostgreSQL acknowledge what a crash of the machine would take back.
var unsynced = []string{"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"}

// startPostgres makes a cluster in the folder and starts a server on it.
func startPostgres(ctx context.Context, dir string, sync bool) (*server, []string, error) {
	bin, err := servers.PostgresBin()
	if err != nil {
		return nil, nil, err
	}
	data := filepath.Join(dir, "postgres")
	if err := os.Mkdir(data, 0o700); err != nil {
		return nil, nil, err
	}
	as, err := servers.Unprivileged(dir, data)
	if err != nil {
		return nil, nil, err
	}
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-U", "castalia",
		"--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = data, &syscall.SysProcAttr{Credential: as}
	if said, err := initdb.CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("initdb: %w\n%s", err, said)
	}
	port, free, err := servers.Port()
	if err != nil {
		return nil, nil, err
	}
	args := []string{
		"-D", data, "-p", strconv.Itoa(port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
		// Two packages with four fleets each, every node with its 32, and their commands beside them.
		"-c", "max_connections=1000", "-c", "max_wal_size=4GB", "-c", "log_min_messages=panic",
	}
	if !sync {
		args = append(args, unsynced...)
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(bin, "postgres"), args...)
	cmd.Dir, cmd.SysProcAttr = data, &syscall.SysProcAttr{Credential: as}
	address := fmt.Sprintf("postgres://castalia@127.0.0.1:%d/postgres?sslmode=disable", port)
	s, err := launch(ctx, cmd, syscall.SIGINT, filepath.Join(dir, "postgres.log"), func(ctx context.Context) error {
		db, err := sqldb.Open(ctx, address, sqldb.Options{})
		if err != nil {
			return err
		}
		return db.Close()
	})
	if err != nil {
		free()
		return nil, nil, err
	}
	s.free = free
	return s, []string{"TEST_POSTGRES_URL=" + address}, nil
}
