// Package apart does work on hostile input in a process of its own.
//
// Code that was not made for hostile input can be led in circles, and a full stack
// or memory ends a Go program however it is written. So the program starts itself
// once more: Run hands the input to that process and reads what it says, Serve is
// the other end. The package promises that the process has nothing of the
// environment, and limits of time, processor, memory, stack, files and output;
// however it ends, its parent goes on; and that whoever has much to be worked on keeps
// nobody else waiting for more than one process of theirs. It does not promise a sandbox: the process
// has the user and the network of its parent.
//
// Decision: ADR 0163.
package apart

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"
)

// Limits of one process. All must be set.
type Limits struct {
	Time   time.Duration // until it is ended
	CPU    time.Duration // of the processor, in whole seconds
	Memory int64
	Stack  int
	Input  int64
	Output int
}

// Why the work was not done. Whoever gave the input may read a Refusal; the others
// say no more than they are called.
var (
	ErrTooSlow   = errors.New("it takes too long")
	ErrTooLarge  = errors.New("it is too large")
	ErrTooMuch   = errors.New("it takes too much memory")
	ErrTooMany   = errors.New("it says too much")
	ErrDestroyed = errors.New("it ended the process that worked on it")
	// ErrBusy is nothing that the input is to blame for.
	ErrBusy = errors.New("others were worked on all the time")
)

// Refusal is what the work itself says is wrong with its input.
type Refusal string //nolint:errname // a text, to be shown

// Error is the text.
func (r Refusal) Error() string { return string(r) }

// The exit codes of a process; any other means that the input was too much for it.
const (
	exitDone    = 0
	exitBroken  = 1
	exitRefused = 3 // its output says why
)

// What a process says at its end, in the runtime's words and in ours.
const (
	outOfMemory = "out of memory"
	outOfTime   = "out of time"
)

// Runner starts processes.
type Runner struct {
	limits  Limits
	command []string
	most    int
	places  *places
}

// New makes a Runner for a command of this program, which must call Serve with the
// same limits. Half as many run at once as there are cores.
func New(limits Limits, command ...string) *Runner {
	most := max(1, runtime.NumCPU()/2)
	return &Runner{limits: limits, command: command, most: most, places: newPlaces(most)}
}

// Places is how many processes run at once.
func (r *Runner) Places() int { return r.most }

// Job is work for a process.
type Job struct {
	// Lane is whose it is: lanes take turns, however much stands in each.
	Lane string
	// Wait is how long it waits for its turn; 0 as long as it takes.
	Wait time.Duration
	// Time ends it sooner than the limits do, counted from its turn; 0 does not.
	Time time.Duration
	// Input is given to the process, in its pieces.
	Input [][]byte
	// Open gives more of it when its turn has come, so that what waits holds no memory.
	Open func() ([]byte, error)
}

// Run has a process do a job and returns what that says. It waits for a place first; a
// context that ends gives its own error.
func (r *Runner) Run(ctx context.Context, j Job) ([]byte, error) {
	if tooLarge(j.Input, r.limits.Input) {
		return nil, ErrTooLarge
	}
	if err := r.place(ctx, j); err != nil {
		return nil, err
	}
	defer r.places.leave()
	if j.Open != nil {
		piece, err := j.Open()
		if err != nil {
			return nil, err
		}
		if j.Input = append(j.Input, piece); tooLarge(j.Input, r.limits.Input) {
			return nil, ErrTooLarge
		}
	}
	readers := make([]io.Reader, len(j.Input))
	for i, piece := range j.Input {
		readers[i] = bytes.NewReader(piece)
	}
	limited, cancel := context.WithTimeout(ctx, min(r.limits.Time, cmp.Or(j.Time, r.limits.Time)))
	defer cancel()
	cmd := exec.CommandContext(limited, r.command[0], r.command[1:]...) //nolint:gosec // this program itself
	cmd.Env = []string{"GOMAXPROCS=2", "GOTRACEBACK=none"}
	cmd.Stdin = io.MultiReader(readers...)
	out, complaint := &most{left: r.limits.Output}, &most{left: 4096, quiet: true}
	cmd.Stdout, cmd.Stderr = out, complaint
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	exit, ended := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, ErrTooSlow
	case out.over:
		return nil, ErrTooMany
	case err == nil:
		return out.taken.Bytes(), nil
	case ended && exit.ExitCode() == exitRefused:
		return nil, Refusal(out.taken.String())
	case ended && complaint.says(outOfTime):
		return nil, ErrTooSlow
	case ended && (exit.ExitCode() < 0 || complaint.says(outOfMemory) || complaint.says(outOfShadow)):
		return nil, ErrTooMuch // by itself, or by a system that had no more
	case ended:
		return nil, ErrDestroyed
	}
	return nil, fmt.Errorf("work apart: %w", err)
}

func tooLarge(pieces [][]byte, limit int64) bool {
	var size int64
	for _, piece := range pieces {
		size += int64(len(piece))
	}
	return size > limit
}

// place waits for a place, as long as the job does.
func (r *Runner) place(ctx context.Context, j Job) error {
	wait := ctx
	if j.Wait > 0 {
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(ctx, j.Wait)
		defer cancel()
	}
	err := r.places.enter(wait, j.Lane)
	if err != nil && ctx.Err() == nil {
		return ErrBusy
	}
	return err
}

// most is a writer that takes so much and no more.
type most struct {
	taken bytes.Buffer
	left  int
	quiet bool // too much is dropped, and no failure
	over  bool
}

func (m *most) says(words string) bool { return strings.Contains(m.taken.String(), words) }

// Write refuses what is too much.
func (m *most) Write(p []byte) (int, error) {
	if len(p) > m.left {
		if m.quiet {
			m.taken.Write(p[:m.left])
			m.left = 0
			return len(p), nil
		}
		m.over = true
		return 0, ErrTooMany
	}
	m.left -= len(p)
	return m.taken.Write(p)
}

// Serve is the other end of Run: it does the work in this process, which it has for
// itself, and returns its exit code. The work's Refusal reaches the other end; other
// errors do not.
func Serve(limits Limits, in io.Reader, out io.Writer, work func(input []byte) ([]byte, error)) int {
	confine(limits)
	debug.SetMaxStack(limits.Stack)
	// A short life: rather memory up to the limit than a collector at work.
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(limits.Memory * 3 / 4)
	go watch(limits.Memory)
	input, err := io.ReadAll(io.LimitReader(in, limits.Input+1))
	if err != nil || int64(len(input)) > limits.Input {
		return exitBroken
	}
	said, err := work(input)
	if refusal, ok := errors.AsType[Refusal](err); ok {
		_, _ = io.WriteString(out, string(refusal))
		return exitRefused
	}
	if err != nil {
		return exitBroken
	}
	if _, err := out.Write(said); err != nil {
		return exitBroken
	}
	return exitDone
}

// watch ends the process when it has too much memory, where the system does not.
func watch(limit int64) {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for tick := time.Tick(20 * time.Millisecond); ; <-tick {
		metrics.Read(sample)
		//nolint:gosec // limits are positive
		if has := sample[0].Value.Uint64() - sample[1].Value.Uint64(); has > uint64(limit) {
			panic(outOfMemory)
		}
	}
}
