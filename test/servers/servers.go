// Package servers finds the programs that tests start as their servers:
// PostgreSQL and versitygw (S3), and ends what outlives them. It starts nothing itself.
package servers

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// ErrAbsent says that a server is not installed here.
var ErrAbsent = errors.New("not installed")

// PostgresBin returns the folder with the newest PostgreSQL's programs. Debian
// does not put them on the PATH.
func PostgresBin() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	all, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(all) == 0 {
		return "", fmt.Errorf("PostgreSQL: %w (Debian package postgresql)", ErrAbsent)
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		return n
	}
	return filepath.Dir(slices.MaxFunc(all, func(a, b string) int { return version(a) - version(b) })), nil
}

// Unprivileged returns whom PostgreSQL runs as when we are root, and gives that
// user its folder.
func Unprivileged(parent, data string) (*syscall.Credential, error) {
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

// Versitygw returns the S3 server: the one that the Makefile put into .bin of
// this folder or of one above it, or the one on the PATH.
func Versitygw() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		path := filepath.Join(dir, ".bin", "versitygw")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	path, err := exec.LookPath("versitygw")
	if err != nil {
		return "", fmt.Errorf("versitygw: %w (make .bin/versitygw)", ErrAbsent)
	}
	return path, nil
}
