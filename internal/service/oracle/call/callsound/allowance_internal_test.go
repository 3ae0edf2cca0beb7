package callsound

import (
	"testing"
	"time"
)

// TestPausesDoNotBuySpeech: whoever sends sound with a pause in every packet has what
// they said understood early so often, and then twice a second.
func TestPausesDoNotBuySpeech(t *testing.T) {
	t.Parallel()
	var b Allowance
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	taken := 0
	for range 10_000 { // ten seconds of a thousand a second
		if b.Take(now) {
			taken++
		}
		now = now.Add(time.Millisecond)
	}
	if want := earlyBurst + 19; taken != want {
		t.Errorf("%d were understood early, want %d", taken, want)
	}
	now = now.Add(time.Hour)
	for taken = 0; b.Take(now); taken++ {
	}
	if taken != earlyBurst {
		t.Errorf("%d after an hour", taken)
	}
}
