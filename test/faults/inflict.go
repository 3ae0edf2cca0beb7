//go:build linux

package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Inflict carries the plan out and returns when everything has been healed.
func (w *World) Inflict(ctx context.Context, p Plan) error {
	began := time.Now()
	busy := map[string]*sync.Mutex{}
	for _, name := range []string{database, objects, bus, nodeName(0), nodeName(1), nodeName(2)} {
		busy[name] = &sync.Mutex{}
	}
	var going sync.WaitGroup
	failed := make(chan error, len(p.Steps))
	for _, s := range p.Steps {
		going.Go(func() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Until(began.Add(s.At))):
			}
			// Two faults of one process take turns.
			lock := busy[s.victim()]
			lock.Lock()
			defer lock.Unlock()
			w.Tell("FAULT  %v", s)
			if err := w.inflict(ctx, s); err != nil {
				failed <- fmt.Errorf("%v: %w", s, err)
			}
			w.Tell("healed %v", s)
		})
	}
	going.Wait()
	close(failed)
	var errs []error
	for err := range failed {
		errs = append(errs, err)
	}
	return errors.Join(append(errs, w.heal(ctx))...)
}

func (s Step) victim() string {
	switch s.Fault {
	case RestartDatabase, SlowDatabase, FullDatabase:
		return database
	case RestartObjects, SlowObjects, FullObjects:
		return objects
	case RestartBus:
		return bus
	}
	return nodeName(s.Node)
}

// inflict does one thing, waits, and undoes it.
func (w *World) inflict(ctx context.Context, s Step) error {
	wait := func() {
		select {
		case <-ctx.Done():
		case <-time.After(s.For):
		}
	}
	victim := s.victim()
	apart := func(others ...string) error {
		var errs []error
		for _, other := range others {
			errs = append(errs, w.stage.sever(victim, other, cut(s.How)))
		}
		wait()
		for _, other := range others {
			errs = append(errs, w.stage.mend(victim, other, cut(s.How)))
		}
		return errors.Join(errs...)
	}
	switch s.Fault {
	case Kill, Clock:
		return w.restartNode(s, wait)
	case Pause:
		w.nodes[s.Node].signal(syscall.SIGSTOP)
		wait()
		w.nodes[s.Node].signal(syscall.SIGCONT)
	case CutDatabase:
		return apart(database)
	case CutObjects:
		return apart(objects)
	case CutBus:
		return apart(bus)
	case CutClients:
		return apart(hub)
	case CutPeers:
		var others []string
		for i := range w.nodes {
			if i != s.Node {
				others = append(others, nodeName(i))
			}
		}
		return apart(others...)
	case Unplug:
		err := w.stage.plug(victim, false)
		wait()
		return errors.Join(err, w.stage.plug(victim, true))
	case SlowLine:
		err := w.stage.throttle(victim, true)
		wait()
		return errors.Join(err, w.stage.throttle(victim, false))
	case RestartDatabase, RestartObjects, RestartBus:
		err := w.servers[victim].end(syscall.SIGKILL)
		wait()
		return errors.Join(err, w.servers[victim].up(ctx))
	case SlowDatabase:
		err := w.slowCommits(true)
		wait()
		return errors.Join(err, w.slowCommits(false))
	case SlowObjects:
		w.stutter(s.For)
	case FullDatabase, FullObjects, FullNode:
		err := w.stage.fill(w.disks[victim])
		wait()
		return errors.Join(err, w.stage.drain(w.disks[victim]))
	}
	return nil
}

// restartNode kills a node and starts it again, with a wrong clock if the step
// says so.
func (w *World) restartNode(s Step, wait func()) error {
	n := w.nodes[s.Node]
	err := n.end(syscall.SIGKILL)
	if s.Fault == Kill {
		wait()
		return errors.Join(err, n.start())
	}
	w.mu.Lock()
	w.clocks[s.Node] = s.Offset
	w.mu.Unlock()
	err = errors.Join(err, n.start())
	wait() // its clock stays wrong: nodes that stop do not mend clocks
	return err
}

// slowCommits makes every commit wait a tenth of a second before it is synced,
// as a slow disk would.
func (w *World) slowCommits(on bool) error {
	text := ""
	if on {
		text = "commit_delay = 100000\ncommit_siblings = 0\n"
	}
	err := w.stage.do(database, func() error {
		return os.WriteFile(filepath.Join(w.disks[database], "cluster", "postgresql.auto.conf"), []byte(text), 0o600)
	})
	w.servers[database].signal(syscall.SIGHUP)
	return err
}

// stutter lets the S3 server run a fifth of the time.
func (w *World) stutter(d time.Duration) {
	p := w.servers[objects]
	for until := time.Now().Add(d); time.Now().Before(until); {
		p.signal(syscall.SIGSTOP)
		time.Sleep(120 * time.Millisecond)
		p.signal(syscall.SIGCONT)
		time.Sleep(30 * time.Millisecond)
	}
}

// heal starts what died of its faults and waits until every node is ready.
func (w *World) heal(ctx context.Context) error {
	for _, p := range w.servers {
		if p.await(ctx) != nil && !p.running() {
			w.Tell("%s had died; it is started again", p.name)
			if err := p.up(ctx); err != nil {
				return err
			}
		}
	}
	for _, n := range w.nodes {
		if !n.running() {
			w.Tell("%s had ended by itself; it is started again", n.name)
			if err := n.start(); err != nil {
				return err
			}
		}
		if err := n.await(ctx); err != nil {
			return err
		}
	}
	w.Tell("everything is healed")
	return nil
}
