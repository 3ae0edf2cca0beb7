//go:build linux

package faults

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// TestFailover loses the primary of a fleet twice while everybody works: it is killed,
// comes back as the standby of its successor, and that one is frozen, replaced and let go
// again. Nothing that was acknowledged is lost.
func TestFailover(t *testing.T) {
	need(t)
	w := start(t, func(dir string) (*World, error) { return NewPair(t.Context(), dir, binaries(t)) })
	c, err := newCrowd(t.Context(), w, "failover")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.begin(t.Context()); err != nil {
		c.end()
		t.Fatal(err)
	}
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			c.end()
			t.Fatalf("%s: %v", what, err)
		}
	}
	for _, loss := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		lost := time.Now()
		must("fail over", w.failOver(t.Context(), loss))
		promoted := time.Now()
		served(t, c, fmt.Sprintf("after %v", loss))
		t.Logf("%v: promoted after %.1fs, everybody was served again after %.1fs", loss, promoted.Sub(lost).Seconds(), time.Since(lost).Seconds())
		if loss == syscall.SIGSTOP {
			must("thaw", w.thaw())
			served(t, c, "beside a primary that does not know that it was replaced")
		}
		must("come back", w.comeBack(t.Context()))
		served(t, c, "with a standby again")
	}
	c.end()
	w.Tell("everybody stopped")
	verdict(t, c)
}
