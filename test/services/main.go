// Command services starts the servers that tests need, runs a command with
// their addresses in its environment, and stops them:
//
//	go run ./test/services -- go test ./...
//
// It starts one PostgreSQL (as user postgres when it is run by root, which
// PostgreSQL refuses) and one versitygw (S3) on free ports and temporary
// folders, and sets TEST_POSTGRES_URL, TEST_S3_URL and AWS_*. A variable that is
// set already is left alone, and its server is not started. What is not
// installed is named and left out: testenv decides whether that is a failure.
// Nothing that these servers store survives the command, and nothing is synced.
//
// With -sync before the dashes PostgreSQL syncs what it acknowledges, as it does where
// it serves people: what a request costs there is measured so.
//
// With -memory before the dashes what they store, and what the command keeps in
// temporary folders, is in memory where there is room for it: tests then wait for
// no disk. What measures, and what needs many gibibytes, goes without.
//
// It exits with the command's code.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/castalia-org/castalia/test/servers"
)

const (
	startLimit = time.Minute
	stopLimit  = 20 * time.Second
)

func main() {
	// Servers die with the thread that started them (see servers.DieWithUs): keep it.
	runtime.LockOSThread()
	os.Exit(run(os.Args[1:], os.Stderr))
}

// run is the program. It returns the exit code.
func run(args []string, stderr io.Writer) int {
	memory, sync := false, false
	for len(args) > 0 && (args[0] == "-memory" || args[0] == "-sync") {
		memory, sync = memory || args[0] == "-memory", sync || args[0] == "-sync"
		args = args[1:]
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		_, _ = fmt.Fprintln(stderr, "usage: services [-memory] [-sync] -- COMMAND [ARGUMENT…]")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	env, temp := os.Environ(), os.TempDir()
	if memory {
		if why := noMemory(memoryFolder); why != "" {
			_, _ = fmt.Fprintln(stderr, "services: temporary folders stay on the disk:", why)
		} else {
			env, temp = inMemory(env, temp), memoryFolder
		}
	}
	dir, err := os.MkdirTemp(temp, "castalia-services-")
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "services:", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()

	for _, s := range []struct {
		variable, name string
		start          func(context.Context, string) (*server, []string, error)
	}{
		{"TEST_POSTGRES_URL", "PostgreSQL", func(ctx context.Context, dir string) (*server, []string, error) {
			return startPostgres(ctx, dir, sync)
		}},
		{"TEST_S3_URL", "S3", startS3},
	} {
		if os.Getenv(s.variable) != "" {
			continue
		}
		up, more, err := s.start(ctx, dir)
		switch {
		case errors.Is(err, servers.ErrAbsent):
			_, _ = fmt.Fprintf(stderr, "services: no %s: %v\n", s.name, err)
		case err != nil:
			_, _ = fmt.Fprintf(stderr, "services: start %s: %v\n", s.name, err)
			return 1
		default:
			defer up.stop()
			env = append(env, more...)
		}
	}
	return command(ctx, args, env, stderr)
}

// command runs the command to its end. A signal that we get is passed on.
func command(ctx context.Context, args, env []string, stderr io.Writer) int {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopLimit
	err := cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code > 0 {
		return code
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "services:", err)
		return 1
	}
	return 0
}

// server is a process that was started here.
type server struct {
	cmd    *exec.Cmd
	signal os.Signal // asks it to stop
	ended  chan struct{}
	free   func() // gives its port to others
}

// launch starts the process and waits until ready says so.
func launch(ctx context.Context, cmd *exec.Cmd, ask os.Signal, log string,
	ready func(context.Context) error,
) (*server, error) {
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	cmd.Stdout, cmd.Stderr = out, out
	servers.DieWithUs(cmd, syscall.SIGQUIT)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd, signal: ask, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(s.ended)
	}()
	if err := s.await(ctx, ready); err != nil {
		s.stop()
		said, _ := os.ReadFile(log)
		return nil, fmt.Errorf("%w\n%s", err, said)
	}
	return s, nil
}

func (s *server) await(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-s.ended:
			return errors.New("it ended at once")
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w", err)
		}
	}
}

func (s *server) stop() {
	if s.free != nil {
		defer s.free()
	}
	_ = s.cmd.Process.Signal(s.signal)
	limit := time.NewTimer(stopLimit)
	defer limit.Stop()
	select {
	case <-s.ended:
	case <-limit.C:
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
}
