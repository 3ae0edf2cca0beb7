package endpoints

import (
	"sync"
	"time"
)

// budget bounds what one node asks of a model.
type budget struct {
	limits Limits
	now    func() time.Time

	mu      sync.Mutex
	running int
	minute  int64
	begun   int
}

// newBudget returns nil for no limit.
func newBudget(l *Limits, now func() time.Time) *budget {
	if l == nil || *l == (Limits{}) {
		return nil
	}
	return &budget{limits: *l, now: now}
}

// begin takes a place, which done gives back.
func (b *budget) begin() (done func(), ok bool) {
	if b == nil {
		return func() {}, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if minute := b.now().Unix() / 60; minute != b.minute {
		b.minute, b.begun = minute, 0
	}
	if b.limits.Concurrent > 0 && b.running >= b.limits.Concurrent || b.limits.RequestsPerMinute > 0 &&
		b.begun >= b.limits.RequestsPerMinute {
		return nil, false
	}
	b.running++
	b.begun++
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.running--
	}, true
}
