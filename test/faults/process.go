//go:build linux

package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// process is one program on the stage. It can be ended and started again.
type process struct {
	stage *stage
	name  string // also of its namespace
	log   string // the file with what it says, over all its starts
	// command makes what is to be started.
	command func() *exec.Cmd
	// ready says what keeps it from being used.
	ready func(ctx context.Context) error

	cmd  *exec.Cmd
	done chan struct{}
}

// start starts the program and does not wait for it.
func (p *process) start() error {
	return p.stage.do(p.name, func() error {
		out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		defer func() { _ = out.Close() }()
		cmd := p.command()
		cmd.Stdout, cmd.Stderr = out, out
		if cmd.SysProcAttr == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("start %s: %w", p.name, err)
		}
		done := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(done)
		}()
		p.cmd, p.done = cmd, done
		return nil
	})
}

// errEnded says that a program ended when it should have run.
var errEnded = errors.New("it ended")

// await waits until the program can be used.
func (p *process) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := p.ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s: %w\n%s", p.name, errEnded, p.tail(4<<10))
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w\n%s", p.name, err, p.tail(4<<10))
		case <-time.After(30 * time.Millisecond):
		}
	}
}

func (p *process) up(ctx context.Context) error {
	if err := p.start(); err != nil {
		return err
	}
	return p.await(ctx)
}

// running reports whether the program has not ended.
func (p *process) running() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

func (p *process) signal(s syscall.Signal) {
	if p.running() {
		_ = p.cmd.Process.Signal(s)
	}
}

// end sends a signal and waits until the program has ended.
func (p *process) end(s syscall.Signal) error {
	if !p.running() {
		return nil
	}
	p.signal(s)
	select {
	case <-p.done:
		return nil
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-p.done
		return fmt.Errorf("%s did not end after %v", p.name, s)
	}
}

// tail is the end of what the program said.
func (p *process) tail(n int) string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-n):])
}
