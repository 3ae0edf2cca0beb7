package pulse

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// TestAWriteThatHangsIsTroubleUntilOneGoesThrough never has two under way.
func TestAWriteThatHangsIsTroubleUntilOneGoesThrough(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var hang atomic.Bool
		var under, most, writes atomic.Int64
		p := &Pulse{write: func(ctx context.Context) error {
			writes.Add(1)
			most.Store(max(most.Load(), under.Add(1)))
			defer under.Add(-1)
			if !hang.Load() {
				return nil
			}
			select {
			case <-time.After(15 * time.Second):
				return errors.New("no answer from the server")
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); _ = p.Run(ctx) }()
		time.Sleep(time.Minute)
		if p.Trouble() != "" || writes.Load() > 13 {
			t.Errorf("well: %q after %d writes in a minute", p.Trouble(), writes.Load())
		}
		hang.Store(true)
		time.Sleep(interval + late - time.Millisecond)
		time.Sleep(time.Second)
		for range 600 { // for ten minutes, also between two tries
			if p.Trouble() != Hangs {
				t.Fatalf("while writes hang: %q", p.Trouble())
			}
			time.Sleep(time.Second)
		}
		hang.Store(false)
		time.Sleep(15*time.Second + again + time.Millisecond)
		if p.Trouble() != "" || most.Load() != 1 {
			t.Errorf("afterwards: %q, %d writes at once", p.Trouble(), most.Load())
		}
		stop()
		<-ended
	})
}

// TestWhatWritesFailOf is told from the second failure on.
func TestWhatWritesFailOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{fault.New(fault.StorageFull, "full"), Full},
		{fault.New(fault.Unavailable, "away"), Fails},
	} {
		p := &Pulse{write: func(context.Context) error { return c.err }}
		if err := p.beat(t.Context()); err == nil || p.Trouble() != "" {
			t.Errorf("%v: after one failure %q", c.err, p.Trouble())
		}
		if err := p.beat(t.Context()); err == nil || p.Trouble() != c.want {
			t.Errorf("%v: %q, want %q", c.err, p.Trouble(), c.want)
		}
	}
}

// TestTheEndOfANodeSaysNothing about its database.
func TestTheEndOfANodeSaysNothing(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	p := &Pulse{write: func(ctx context.Context) error { return ctx.Err() }}
	for range 2 * failures {
		if p.beat(ctx) == nil || p.Trouble() != "" {
			t.Fatalf("%q", p.Trouble())
		}
	}
}
