package upstream

import (
	"testing"
	"time"
)

// TestBreaker opens after five failures in a row, lets one call try after a
// wait that doubles, and closes when that call succeeds.
func TestBreaker(t *testing.T) {
	t.Parallel()
	var b breaker
	now := time.Unix(0, 0)
	for range breakAfter - 1 {
		b.failure(now)
	}
	if !b.allow(now) || b.open(now) {
		t.Fatal("open too early")
	}
	for wait := breakMin; wait <= 8*breakMin; wait *= 2 {
		b.failure(now)
		if b.allow(now.Add(wait-1)) || !b.open(now.Add(wait-1)) {
			t.Fatalf("asked before %v", wait)
		}
		now = now.Add(wait)
		if !b.allow(now) || b.allow(now) {
			t.Fatalf("after %v one call may try, and only one", wait)
		}
	}
	b.release()
	if !b.allow(now) {
		t.Error("a try without a verdict was not given back")
	}
	for range 20 {
		b.failure(now)
	}
	if now = now.Add(breakMax); !b.allow(now) {
		t.Errorf("the wait is longer than %v", breakMax)
	}
	b.success()
	b.failure(now)
	if b.open(now) {
		t.Error("one failure after a success opens it")
	}
}

// TestAvoided is from the first failure on, for a time that doubles, and until
// a call is answered; being reachable is not enough.
func TestAvoided(t *testing.T) {
	t.Parallel()
	var b breaker
	now := time.Unix(0, 0)
	for wait := breakMin; wait <= 4*breakMin; wait *= 2 {
		b.failure(now)
		b.revive()
		if !b.poor(now.Add(wait-1)) || b.poor(now.Add(wait)) || !b.allow(now) {
			t.Fatalf("not avoided for %v", wait)
		}
		now = now.Add(wait)
	}
	for range 20 {
		b.failure(now)
	}
	if b.poor(now.Add(breakMax)) {
		t.Errorf("avoided for longer than %v", breakMax)
	}
	b.success()
	if b.poor(now) {
		t.Error("avoided after an answer")
	}
}
