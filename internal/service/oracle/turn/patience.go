package turn

import (
	"context"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/pace"
)

// storeWait is how long a turn waits for a store that is away, as its log does.
const storeWait = time.Minute

// patiently reads from a store, and again while the store is away: a turn that
// was accepted does not fail because the database restarts.
func patiently[T any](ctx context.Context, read func() (T, error)) (T, error) {
	deadline := time.Now().Add(storeWait)
	var value T
	err := pace.Backoff{First: 50 * time.Millisecond, Longest: time.Second}.Retry(ctx, func() (err error) {
		value, err = read()
		return err
	}, func(err error) bool { return fault.From(err).Kind == fault.Unavailable && !time.Now().After(deadline) })
	return value, err
}
