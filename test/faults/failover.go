//go:build linux

package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// NewPair starts a fleet whose PostgreSQL has a synchronous standby.
func NewPair(ctx context.Context, dir string, binary []string) (*World, error) {
	return newWorld(ctx, dir, binary, pair)
}

// replicate makes the standby. Nodes know both servers.
func (w *World) replicate(ctx context.Context) error {
	c, err := w.newCluster(standby)
	if err != nil {
		return err
	}
	w.second = c
	address := func(host string) string { return net.JoinHostPort(w.stage.hosts[host], pgPort) }
	w.databaseURL = fmt.Sprintf("postgres://castalia@%s,%s/postgres?sslmode=disable&target_session_attrs=read-write", address(database), address(standby))
	return w.follow(ctx)
}

// follow makes the second cluster, which is empty, a copy of the primary, and has commits
// wait for it.
func (w *World) follow(ctx context.Context) error {
	err := w.run(ctx, w.second, "pg_basebackup", "-h", w.stage.hosts[w.primary.host], "-p", pgPort, "-U", "castalia", "-R", "--checkpoint=fast", "--no-sync")
	if err != nil {
		return err
	}
	p := w.serve(ctx, w.second)
	p.ready = w.dialable(w.second.host, pgPort)
	w.servers[w.second.host] = p
	if err := p.up(ctx); err != nil {
		return err
	}
	return w.synchronous(w.primary, true)
}

// synchronous has the commits of a cluster wait for a standby, or not.
func (w *World) synchronous(c *cluster, on bool) error {
	text := ""
	if on {
		text = "synchronous_standby_names = 'ANY 1 (*)'\n"
	}
	err := w.stage.do(c.host, func() error {
		return os.WriteFile(filepath.Join(c.data, "postgresql.auto.conf"), []byte(text), 0o600)
	})
	w.servers[c.host].signal(syscall.SIGHUP)
	return err
}

// failOver takes the primary away, by killing or freezing it, and promotes its standby.
func (w *World) failOver(ctx context.Context, how syscall.Signal) error {
	old := w.servers[w.primary.host]
	w.Tell("FAULT  %s: %v", old.name, how)
	if how == syscall.SIGKILL {
		if err := old.end(how); err != nil {
			return err
		}
	} else if err := old.signalAll(how); err != nil {
		return err
	}
	if err := w.run(ctx, w.second, "pg_ctl", "promote"); err != nil {
		return err
	}
	w.primary, w.second = w.second, w.primary
	w.Tell("promoted %s", w.primary.host)
	w.socketURL = w.primary.socketURL("postgres")
	p := w.servers[w.primary.host]
	p.ready = func(ctx context.Context) error { return answers(ctx, w.socketURL) }
	if err := p.await(ctx); err != nil {
		return err
	}
	return w.synchronous(w.primary, false) // there is no other one now
}

// thaw lets a primary go on that was frozen and replaced.
func (w *World) thaw() error {
	w.Tell("%s goes on, and knows nothing", w.second.host)
	return w.servers[w.second.host].signalAll(syscall.SIGCONT)
}

// comeBack makes a former primary the standby of its successor.
func (w *World) comeBack(ctx context.Context) error {
	if err := w.servers[w.second.host].end(syscall.SIGKILL); err != nil {
		return err
	}
	err := w.stage.do(w.second.host, func() error {
		entries, err := os.ReadDir(w.second.data)
		for _, e := range entries {
			err = errors.Join(err, os.RemoveAll(filepath.Join(w.second.data, e.Name())))
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := w.follow(ctx); err != nil {
		return err
	}
	w.Tell("%s is back, as a standby", w.second.host)
	return nil
}

// signalAll reaches the program and its children.
func (p *process) signalAll(s syscall.Signal) error {
	if !p.running() {
		return nil
	}
	pid := p.cmd.Process.Pid
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return err
	}
	p.signal(s)
	for child := range strings.FieldsSeq(string(children)) {
		if n, err := strconv.Atoi(child); err == nil {
			_ = syscall.Kill(n, s) // one that has ended is as good
		}
	}
	return nil
}
