package run

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/castalia-org/castalia/internal/platform/bus/busmem"
	"github.com/castalia-org/castalia/internal/platform/quiet"
)

// still is a store in which nothing changes, and counts looks for lost runs.
type still struct {
	Store
	live  atomic.Bool
	looks atomic.Int64
}

func (s *still) Live(context.Context) (bool, error) { return s.live.Load(), nil }

func (s *still) Claimable(context.Context, time.Duration, int) ([]string, error) {
	s.looks.Add(1)
	return nil, nil
}

func (*still) Prune(context.Context, time.Time, int) (int, error) { return 0, nil }

// TestLostRunsAreLookedForWhileThereAreRuns: a run whose node died is lost when its time is
// over, of which a database in which nothing changes says nothing.
func TestLostRunsAreLookedForWhileThereAreRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := busmem.New()
		st, w := &still{}, &quiet.Watch{}
		e := New(st, b, nil, Config{Quiet: w})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- e.Run(ctx) }()
		looks := func() int64 {
			before := st.looks.Load()
			for range 40 { // twenty seconds
				w.Told(time.Now(), "the same")
				time.Sleep(500 * time.Millisecond)
			}
			return st.looks.Load() - before
		}
		looks()
		if n := looks(); n > 5 {
			t.Errorf("%d looks in twenty seconds in which there was no run", n)
		}
		st.live.Store(true)
		w.Told(time.Now(), "a run")
		looks()
		if n := looks(); n < 19 {
			t.Errorf("%d looks in twenty seconds in which there was a run", n)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		_ = b.Close()
	})
}
