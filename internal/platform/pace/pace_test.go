package pace_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/pace"
)

var errAway = errors.New("away")

func TestRetryWaitsTwiceAsLongEachTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		err := pace.Backoff{First: time.Second, Longest: 5 * time.Second}.Retry(t.Context(), func() error {
			at = append(at, time.Since(began))
			if len(at) < 6 {
				return errAway
			}
			return nil
		}, func(error) bool { return true })
		want := []time.Duration{0, 1 * time.Second, 3 * time.Second, 7 * time.Second, 12 * time.Second, 17 * time.Second}
		if diff := cmp.Diff(want, at); err != nil || diff != "" {
			t.Errorf("%v, tries (-want +got):\n%s", err, diff)
		}
	})
}

func TestRetryReturnsTheLastError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		backoff := pace.Backoff{First: time.Second, Longest: time.Minute}
		tries := 0
		fail := func() error { tries++; return fmt.Errorf("try %d: %w", tries, errAway) }
		err := backoff.Retry(t.Context(), fail, func(error) bool { return tries < 3 })
		if !errors.Is(err, errAway) || tries != 3 {
			t.Errorf("%v after %d tries", err, tries)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		tries = 0
		err = backoff.Retry(ctx, fail, func(error) bool { return true })
		if !errors.Is(err, errAway) || tries != 2 {
			t.Errorf("when the context ends: %v after %d tries", err, tries)
		}
	})
}

func TestEveryEndsWithItsContextOrItsWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		calls := 0
		pace.Every(ctx, time.Second, func() bool { calls++; return true })
		if calls != 3 {
			t.Errorf("%d calls", calls)
		}
		calls = 0
		pace.Every(t.Context(), time.Second, func() bool { calls++; return calls < 2 })
		if calls != 2 {
			t.Errorf("%d calls", calls)
		}
	})
}

func explode() { panic("no tea") }

func TestGuardKeepsTheStack(t *testing.T) {
	t.Parallel()
	err := pace.Guard(func() error { explode(); return nil })
	if err == nil || err.Error() != "panic: no tea" {
		t.Errorf("the panic became %v", err)
	}
	if got := pace.Stack(fmt.Errorf("plugin x: %w", err)); got.Key != "stack" || !strings.Contains(got.Value.String(), "explode") {
		t.Errorf("the log would show %v", got)
	}
	if err := pace.Guard(func() error { return errAway }); !errors.Is(err, errAway) || pace.Stack(err).Key != "" {
		t.Errorf("an error became %v", err)
	}
}
