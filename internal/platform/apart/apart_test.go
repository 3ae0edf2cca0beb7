package apart_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/apart"
)

// The tests' own program is also the one that works apart.
const work = "work-apart"

func limits() apart.Limits {
	return apart.Limits{
		Time: time.Minute, CPU: time.Second, Memory: 256 << 20, Stack: 16 << 20, Input: 1 << 20, Output: 1000,
	}
}

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == work {
		os.Exit(apart.Serve(limits(), os.Stdin, os.Stdout, func(input []byte) ([]byte, error) {
			switch string(input) {
			case "hang":
				select {}
			case "spin":
				for n := 0; ; n++ {
					input[0] = byte(n)
				}
			case "refuse":
				return nil, apart.Refusal("not this one")
			case "fail":
				return nil, errors.New("a secret")
			case "large allocation":
				return make([]byte, 8<<30), nil
			case "write a file":
				return nil, os.WriteFile(os.TempDir()+"/apart", []byte("x"), 0o600)
			case "say much":
				return bytes.Repeat([]byte("x"), 1001), nil
			}
			return bytes.ToUpper(input), nil
		}))
	}
	os.Exit(m.Run())
}

func job(pieces ...string) apart.Job {
	var j apart.Job
	for _, p := range pieces {
		j.Input = append(j.Input, []byte(p))
	}
	return j
}

func TestRun(t *testing.T) {
	t.Parallel()
	runner := apart.New(limits(), os.Args[0], work)
	for input, want := range map[string]error{
		"refuse":                       apart.Refusal("not this one"),
		"fail":                         apart.ErrDestroyed,
		"spin":                         apart.ErrTooSlow,
		"large allocation":             apart.ErrTooMuch,
		"write a file":                 apart.ErrDestroyed,
		"say much":                     apart.ErrTooMany,
		strings.Repeat("x", (1<<20)+1): apart.ErrTooLarge,
	} {
		if out, err := runner.Run(t.Context(), job(input)); !errors.Is(err, want) {
			t.Errorf("%.20s: %q, %v, want %v", input, out, err, want)
		}
	}
	if out, err := runner.Run(t.Context(), job("as ", "it is")); string(out) != "AS IT IS" || err != nil {
		t.Errorf("it says %q, %v", out, err)
	}
	opened := job("as ")
	opened.Open = func() ([]byte, error) { return []byte("opened"), nil }
	if out, err := runner.Run(t.Context(), opened); string(out) != "AS OPENED" || err != nil {
		t.Errorf("it says %q, %v", out, err)
	}
	opened.Open = func() ([]byte, error) { return make([]byte, 1<<20), nil }
	if _, err := runner.Run(t.Context(), opened); !errors.Is(err, apart.ErrTooLarge) {
		t.Errorf("too much that is opened: %v", err)
	}
}

// A process that waits for ever is ended by the clock, whoever set it.
func TestRunEnds(t *testing.T) {
	t.Parallel()
	short := limits()
	short.Time = 100 * time.Millisecond
	if _, err := apart.New(short, os.Args[0], work).Run(t.Context(), job("hang")); !errors.Is(err, apart.ErrTooSlow) {
		t.Errorf("it ended with %v", err)
	}
	soon := job("hang")
	soon.Time = 100 * time.Millisecond
	if _, err := apart.New(limits(), os.Args[0], work).Run(t.Context(), soon); !errors.Is(err, apart.ErrTooSlow) {
		t.Errorf("a job with less time ended with %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := apart.New(limits(), os.Args[0], work).Run(ctx, job("hang")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it ended with %v", err)
	}
}

// Whoever waits for a place is not told that the input was slow.
func TestRunIsBusy(t *testing.T) {
	t.Parallel()
	runner := apart.New(limits(), os.Args[0], work)
	ctx, cancel := context.WithCancel(t.Context())
	var held sync.WaitGroup
	for range runner.Places() {
		held.Go(func() { _, _ = runner.Run(ctx, job("hang")) })
	}
	waits := job("hello")
	waits.Lane, waits.Wait = "another", 50*time.Millisecond
	for { // until the others have taken every place
		_, err := runner.Run(t.Context(), waits)
		if errors.Is(err, apart.ErrBusy) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	held.Wait()
	if out, err := runner.Run(t.Context(), job("hello")); string(out) != "HELLO" || err != nil {
		t.Errorf("it says %q, %v", out, err)
	}
}
