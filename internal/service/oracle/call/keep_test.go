package call

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// stuck is a store and an archive of which one thing never ends, as on a line
// that went dead.
type stuck struct {
	Store
	Archive
	at             string
	renewed, swept atomic.Int64
}

func (s *stuck) wait(ctx context.Context, at string) error {
	if s.at != at {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (s *stuck) RenewCalls(ctx context.Context, _ string, _ time.Duration) error {
	s.renewed.Add(1)
	return s.wait(ctx, "renewal")
}

func (s *stuck) HeldCalls(ctx context.Context, _ string) ([]string, error) {
	return []string{"c"}, s.wait(ctx, "look")
}

func (s *stuck) SweepCalls(ctx context.Context, _ time.Time, _ int) ([]Record, error) {
	s.swept.Add(1)
	return nil, s.wait(ctx, "sweep")
}

func (s *stuck) ClaimRecordings(context.Context, Due, time.Duration, int) ([]Record, error) {
	return []Record{{ID: "old", Recording: Recording{Path: "p"}}}, nil
}

func (s *stuck) SetRecording(context.Context, string, RecordingState) error { return nil }

func (s *stuck) Finish(ctx context.Context, _ Place, _ string) (bool, error) {
	return true, s.wait(ctx, "archive")
}

// A node whose calls are not renewed is taken for dead, and they are ended by
// others. Whatever else it waits for does not hold that up.
func TestCallsAreRenewedWhateverElseHangs(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"nothing", "look", "sweep", "archive", "renewal"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &stuck{at: at}
				s := New(Deps{Store: store, Archive: store}, Config{})
				s.lives["c"] = &live{rec: Record{ID: "c"}}
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() { defer close(ended); s.keep(ctx) }()
				<-time.After(time.Minute)
				// Twice in each lease, at least.
				if n := store.renewed.Load(); n < int64(2*time.Minute/s.cfg.Lease) {
					t.Errorf("the calls were renewed %d times in a minute", n)
				}
				if n := store.swept.Load(); n < int64(2*time.Minute/s.cfg.Lease) && at != "sweep" {
					t.Errorf("dead nodes were looked for %d times in a minute", n)
				}
				stop()
				<-ended
			})
		})
	}
}
