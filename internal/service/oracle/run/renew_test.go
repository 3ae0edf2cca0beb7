package run_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/castalia-org/castalia/internal/platform/bus/busmem"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
)

// stuck is a store of which one thing never ends, as on a line that went dead.
type stuck struct {
	run.Store
	at      string
	begun   atomic.Int64
	renewed atomic.Int64
}

func (s *stuck) wait(ctx context.Context, at string) error {
	if s.at != at {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

// Begin lets the first run begin and the others wait.
func (s *stuck) Begin(_ context.Context, b run.Begin) (run.Begun, error) {
	r := b.Run
	r.Status, r.Epoch, r.NextSeq, r.Attempt = oracle.Running, 1, 3, 1
	if s.begun.Add(1) > 1 {
		r.Status = oracle.Queued
	}
	frames, err := b.Frames(r)
	return run.Begun{Run: r, Frames: frames}, err
}

func (s *stuck) Claim(ctx context.Context, _, _ string, _ time.Duration) (oracle.Run, error) {
	if err := s.wait(ctx, "claim"); err != nil {
		return oracle.Run{}, err
	}
	return oracle.Run{}, run.ErrLost
}

func (*stuck) Live(context.Context) (bool, error) { return true, nil }

func (s *stuck) Claimable(ctx context.Context, _ time.Duration, _ int) ([]string, error) {
	return nil, s.wait(ctx, "look for runs")
}

func (s *stuck) Renew(ctx context.Context, _ []run.Held, _ time.Duration) (map[string]run.Standing, error) {
	s.renewed.Add(1)
	return nil, s.wait(ctx, "renewal")
}

func (s *stuck) Heads(_ context.Context, ids []string) (map[string]run.Head, error) {
	heads := map[string]run.Head{}
	for _, id := range ids {
		heads[id] = run.Head{Status: oracle.Queued}
	}
	return heads, nil
}

func (s *stuck) Prune(ctx context.Context, _ time.Time, _ int) (int, error) {
	return 0, s.wait(ctx, "prune")
}

func (s *stuck) Finish(context.Context, run.Ending) error { return nil }

// A run whose lease is not renewed is taken over by another node, which begins it
// anew. Whatever else a node waits for does not hold that up.
func TestLeasesAreRenewedWhateverElseHangs(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"nothing", "claim", "look for runs", "prune", "renewal"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, hints := &stuck{at: at}, busmem.New()
				over := make(chan struct{})
				e := run.New(store, hints, worker{work: func(context.Context, run.Job) run.Result {
					<-over
					return answered("done")
				}}, run.Config{LeaseTTL: 6 * time.Second})
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- e.Run(ctx) }()
				start(t, e, "s", "go", "")
				start(t, e, "s", "and then", "")
				<-time.After(time.Minute)
				if n := store.renewed.Load(); n < 20 { // twice in each lease
					t.Errorf("the lease was renewed %d times in a minute", n)
				}
				close(over)
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if err := hints.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
