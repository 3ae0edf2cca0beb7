//go:build linux

package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The addresses of everybody. The range is set aside for tests of networks; no
// packet leaves the namespaces.
const (
	hub      = "hub" // clients, the model and the bridge
	database = "database"
	standby  = "standby" // of the database; only where it is to fail over
	objects  = "objects"
	bus      = "bus"
)

func nodeName(i int) string { return fmt.Sprintf("node%d", i) }

const subnet = "198.18.0."

// stage is where the play is: one thread with mounts of its own, from which all
// processes are started, and a network namespace for each of them.
type stage struct {
	work  chan func()
	ended chan struct{}
	home  int // the namespace of this process
	nets  map[string]*os.File
	hosts map[string]string // name to address
}

// newStage makes the namespaces and joins them by a bridge.
func newStage(ctx context.Context, nodes int) (*stage, error) {
	s := &stage{work: make(chan func()), ended: make(chan struct{}), nets: map[string]*os.File{}, hosts: map[string]string{
		hub: subnet + "1", database: subnet + "10", objects: subnet + "11", bus: subnet + "12", standby: subnet + "13",
	}}
	for i := range nodes {
		s.hosts[nodeName(i)] = fmt.Sprint(subnet, 21+i)
	}
	ready := make(chan error, 1)
	go s.thread(ready)
	if err := <-ready; err != nil {
		return nil, err
	}
	if err := s.build(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// thread runs what it is given, on one thread that dies with it: with the thread
// go its mounts, its namespaces and, by their death signal, its processes.
func (s *stage) thread(ready chan<- error) {
	runtime.LockOSThread()
	defer close(s.ended)
	home, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		ready <- err
		return
	}
	s.home = home
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		ready <- fmt.Errorf("have mounts of our own: %w", err)
		return
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		ready <- fmt.Errorf("keep mounts to ourselves: %w", err)
		return
	}
	ready <- nil
	for fn := range s.work {
		fn()
	}
	for _, f := range s.nets {
		_ = f.Close()
	}
	_ = unix.Close(home)
}

func (s *stage) close() {
	close(s.work)
	<-s.ended
}

// do runs fn on the stage's thread, inside a network namespace.
func (s *stage) do(name string, fn func() error) error {
	result := make(chan error, 1)
	s.work <- func() {
		if err := unix.Setns(int(s.nets[name].Fd()), unix.CLONE_NEWNET); err != nil {
			result <- fmt.Errorf("enter %s: %w", name, err)
			return
		}
		err := fn()
		result <- errors.Join(err, unix.Setns(s.home, unix.CLONE_NEWNET))
	}
	return <-result
}

// ip runs one command of iproute2 inside a namespace.
func (s *stage) ip(name string, args ...string) error { return s.run(name, "ip", args...) }

func (s *stage) run(name, command string, args ...string) error {
	return s.do(name, func() error {
		if said, err := exec.Command(command, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("in %s: %s %s: %w: %s", name, command, strings.Join(args, " "), err, said)
		}
		return nil
	})
}

func (s *stage) build(ctx context.Context) error {
	made := make(chan error, 1)
	s.work <- func() {
		for name := range s.hosts {
			if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
				made <- fmt.Errorf("make a network namespace: %w", err)
				return
			}
			f, err := os.Open("/proc/thread-self/ns/net")
			if err != nil {
				made <- err
				return
			}
			s.nets[name] = f
		}
		made <- unix.Setns(s.home, unix.CLONE_NEWNET)
	}
	if err := <-made; err != nil {
		return err
	}
	steps := [][]string{{hub, "link", "add", "bridge", "type", "bridge"}, {hub, "addr", "add", s.hosts[hub] + "/24", "dev", "bridge"}, {hub, "link", "set", "bridge", "up"}}
	for name, address := range s.hosts {
		steps = append(steps, []string{name, "link", "set", "lo", "up"})
		if name == hub {
			continue
		}
		there := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), s.nets[name].Fd())
		steps = append(
			steps,
			[]string{hub, "link", "add", name, "type", "veth", "peer", "name", "line", "netns", there},
			[]string{hub, "link", "set", name, "master", "bridge", "up"},
			[]string{name, "addr", "add", address + "/24", "dev", "line"},
			[]string{name, "link", "set", "line", "up"},
		)
	}
	for _, step := range steps {
		if err := s.ip(step[0], step[1:]...); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// dial connects from the hub, as clients do. A socket belongs to the namespace
// in which it was made, wherever it is used.
func (s *stage) dial(ctx context.Context, network, address string) (net.Conn, error) {
	runtime.LockOSThread()
	if err := unix.Setns(int(s.nets[hub].Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	conn, err := (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, network, address)
	if back := unix.Setns(s.home, unix.CLONE_NEWNET); back != nil {
		return nil, back // the thread stays locked: it must not be used by others
	}
	runtime.UnlockOSThread()
	return conn, err
}

// listen opens a listener at the hub.
func (s *stage) listen(ctx context.Context) (l net.Listener, err error) {
	err = s.do(hub, func() error {
		l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(s.hosts[hub], "0"))
		return err
	})
	return l, err
}

// A cut is how two of the stage are kept apart.
type cut string

// The ways. Deaf is the worst: what is asked arrives and is done, and the
// answer is lost.
const (
	refused cut = "refused" // the asking side knows at once
	deaf    cut = "deaf"    // answers are lost without a word
	both    cut = "both"
)

// sever keeps packets from travelling between two namespaces; mend lets them.
func (s *stage) sever(from, to string, how cut) error {
	var errs []error
	if how != deaf {
		errs = append(errs, s.ip(from, "route", "replace", "unreachable", s.hosts[to]+"/32"))
	}
	if how != refused {
		errs = append(errs, s.ip(to, "route", "replace", "blackhole", s.hosts[from]+"/32"))
	}
	return errors.Join(errs...)
}

func (s *stage) mend(from, to string, how cut) error {
	var errs []error
	if how != deaf {
		errs = append(errs, s.ip(from, "route", "del", "unreachable", s.hosts[to]+"/32"))
	}
	if how != refused {
		errs = append(errs, s.ip(to, "route", "del", "blackhole", s.hosts[from]+"/32"))
	}
	return errors.Join(errs...)
}

// plug takes a namespace's cable out, or puts it back.
func (s *stage) plug(name string, in bool) error {
	state := "down"
	if in {
		state = "up"
	}
	return s.ip(hub, "link", "set", name, state)
}

// throttle lets a namespace's cable carry a megabit a second both ways, behind a
// queue of half a second: what comes faster is lost, and sent again.
func (s *stage) throttle(name string, on bool) error {
	verb, what := "del", []string{"root"}
	if on {
		verb, what = "add", []string{"root", "tbf", "rate", "1mbit", "burst", "8kb", "latency", "500ms"}
	}
	return errors.Join(
		s.run(name, "tc", append([]string{"qdisc", verb, "dev", "line"}, what...)...),
		s.run(hub, "tc", append([]string{"qdisc", verb, "dev", name}, what...)...),
	)
}

// disk mounts a small disk at a folder that only the stage sees. Its bytes are
// in memory: what a process has written survives it, as on a real disk.
func (s *stage) disk(dir string, megabytes int) error {
	return s.do(hub, func() error {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		return unix.Mount("castalia-faults", dir, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=755", megabytes))
	})
}

const filler = "filler"

// fill leaves no byte free on a disk; drain gives them back.
func (s *stage) fill(dir string) error {
	return s.do(hub, func() error {
		f, err := os.Create(filepath.Join(dir, filler))
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		for size := int64(1 << 20); size >= 4096; size /= 2 {
			for {
				end, err := f.Seek(0, io.SeekEnd)
				if err != nil {
					return err
				}
				if unix.Fallocate(int(f.Fd()), 0, end, size) != nil {
					break // it does not fit any more
				}
			}
		}
		return nil
	})
}

func (s *stage) drain(dir string) error {
	return s.do(hub, func() error { return os.Remove(filepath.Join(dir, filler)) })
}
