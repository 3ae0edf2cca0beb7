package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// startPostgres makes a cluster in the folder and starts a server on it.
func startPostgres(ctx context.Context, dir string) (*server, []string, error) {
	bin, err := postgresBin()
	if err != nil {
		return nil, nil, err
	}
	data := filepath.Join(dir, "postgres")
	if err := os.Mkdir(data, 0o700); err != nil {
		return nil, nil, err
	}
	as, err := unprivileged(dir, data)
	if err != nil {
		return nil, nil, err
	}
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-U", "castalia",
		"--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = data, &syscall.SysProcAttr{Credential: as}
	if said, err := initdb.CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("initdb: %w\n%s", err, said)
	}
	port, err := freePort()
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(bin, "postgres"), "-D", data, "-p", port,
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
		"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off",
		"-c", "max_connections=400", "-c", "max_wal_size=4GB", "-c", "log_min_messages=panic")
	cmd.Dir, cmd.SysProcAttr = data, &syscall.SysProcAttr{Credential: as}
	address := "postgres://castalia@127.0.0.1:" + port + "/postgres?sslmode=disable"
	s, err := launch(ctx, cmd, syscall.SIGINT, filepath.Join(dir, "postgres.log"), func(ctx context.Context) error {
		db, err := sqldb.Open(ctx, address, sqldb.Options{})
		if err != nil {
			return err
		}
		return db.Close()
	})
	if err != nil {
		return nil, nil, err
	}
	return s, []string{"TEST_POSTGRES_URL=" + address}, nil
}

// postgresBin returns the folder with the newest PostgreSQL's programs. Debian
// does not put them on the PATH.
func postgresBin() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	all, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(all) == 0 {
		return "", fmt.Errorf("PostgreSQL: %w (Debian package postgresql)", errAbsent)
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		return n
	}
	return filepath.Dir(slices.MaxFunc(all, func(a, b string) int { return version(a) - version(b) })), nil
}

// unprivileged returns whom PostgreSQL runs as when we are root, and gives that
// user its folder.
func unprivileged(parent, data string) (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil // as ourselves
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root: %w", err)
	}
	uid, errUID := strconv.ParseUint(u.Uid, 10, 32)
	gid, errGID := strconv.ParseUint(u.Gid, 10, 32)
	if errUID != nil || errGID != nil {
		return nil, fmt.Errorf("user postgres has no numeric id: %q %q", u.Uid, u.Gid)
	}
	if err := os.Chmod(parent, 0o755); err != nil { // the user must pass through
		return nil, err
	}
	if err := os.Chown(data, int(uid), int(gid)); err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
