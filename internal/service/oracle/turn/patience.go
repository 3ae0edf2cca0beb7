package turn

import (
	"context"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// patience is how long a turn waits for a store that is away, as its log does.
const patience = time.Minute

// patiently reads from a store, and again while the store is away: a turn that
// was accepted does not fail because the database restarts.
func patiently[T any](ctx context.Context, read func() (T, error)) (T, error) {
	deadline := time.Now().Add(patience)
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		value, err := read()
		if err == nil || fault.From(err).Kind != fault.Unavailable || time.Now().After(deadline) {
			return value, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return value, err
		case <-timer.C:
		}
	}
}
