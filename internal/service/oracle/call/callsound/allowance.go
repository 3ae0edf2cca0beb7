package callsound

import "time"

// Allowance bounds how often what may not be whole is understood: each time costs
// the operator money, and whoever sends sound says how often there is a pause in it.
// The zero value is full.
type Allowance struct {
	left int
	last time.Time
}

const (
	earlyBurst = 16
	earlyEvery = 500 * time.Millisecond
)

// Take reports whether there is some left. Without it an utterance is understood once
// it has ended, one after the other.
func (b *Allowance) Take(now time.Time) bool {
	if b.last.IsZero() {
		b.left, b.last = earlyBurst, now
	}
	if more := int(now.Sub(b.last) / earlyEvery); more > 0 {
		b.left, b.last = min(earlyBurst, b.left+more), b.last.Add(time.Duration(more)*earlyEvery)
	}
	if b.left == 0 {
		return false
	}
	b.left--
	return true
}
