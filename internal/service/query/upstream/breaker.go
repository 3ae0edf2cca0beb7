package upstream

import (
	"sync"
	"time"
)

// How a node is kept from being asked while it fails.
const (
	breakAfter = 5 // failures in a row
	breakMin   = time.Second
	breakMax   = 30 * time.Second
)

// breaker stops calls to a node that fails, and lets one try after a while.
// The wait doubles with each failed try. From the first failure on the node is
// avoided for as long: it is asked only where there is no better one.
type breaker struct {
	mu       sync.Mutex
	failures int
	wait     time.Duration
	until    time.Time // open until then
	trying   bool      // one call is out to see whether it works again
	avoid    time.Duration
	avoided  time.Time // until then
}

// allow reports whether the node may be asked now. While the breaker is half
// open only the first to ask gets through.
func (b *breaker) allow(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < breakAfter {
		return true
	}
	if b.trying || now.Before(b.until) {
		return false
	}
	b.trying = true
	return true
}

// open reports whether calls are refused, without asking for one.
func (b *breaker) open(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failures >= breakAfter && (b.trying || now.Before(b.until))
}

// poor reports whether the last call failed not long ago.
func (b *breaker) poor(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return now.Before(b.avoided)
}

// success is a call that was answered.
func (b *breaker) success() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures, b.wait, b.trying = 0, 0, false
	b.avoid, b.avoided = 0, time.Time{}
}

// revive closes the breaker of a node that can be reached. That it says how far
// it is does not mean that it answers queries: it is still avoided.
func (b *breaker) revive() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures, b.wait, b.trying = 0, 0, false
}

func (b *breaker) failure(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures++
	b.trying = false
	b.avoid = min(max(2*b.avoid, breakMin), breakMax)
	b.avoided = now.Add(b.avoid)
	if b.failures >= breakAfter {
		b.wait = min(max(2*b.wait, breakMin), breakMax)
		b.until = now.Add(b.wait)
	}
}

// release gives a try back that ended without a verdict.
func (b *breaker) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trying = false
}

// budget lets retries be a tenth of the calls, so that a failing chain is not
// asked three times as often as a healthy one.
type budget struct {
	mu     sync.Mutex
	tokens float64
}

const (
	budgetMax   = 20
	budgetShare = 0.1
)

func newBudget() *budget { return &budget{tokens: budgetMax} }

func (b *budget) deposit() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = min(b.tokens+budgetShare, budgetMax)
}

func (b *budget) withdraw() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
