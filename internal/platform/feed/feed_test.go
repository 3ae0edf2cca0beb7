package feed_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/castalia-org/castalia/internal/platform/bus/busmem"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/feed"
)

// news is a feed that counts how often it was read.
type news struct {
	reads atomic.Int64
	more  atomic.Int64 // readings that are not the last
	err   atomic.Pointer[error]
}

func (n *news) read(context.Context) (bool, error) {
	n.reads.Add(1)
	if err := n.err.Load(); err != nil {
		return false, *err
	}
	return n.more.Add(-1) >= 0, nil
}

func TestWhatIsKnownIsAtMostASecondOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &news{}
		n.more.Store(2)
		f := feed.New(feed.Config{Subject: "s", Read: n.read, Unknown: "nobody knows"})
		wantReads := func(want int64) {
			t.Helper()
			if err := f.Current(t.Context()); err != nil || n.reads.Load() != want {
				t.Errorf("%d readings, want %d: %v", n.reads.Load(), want, err)
			}
		}
		wantReads(3) // nothing is known at first, and it takes three to read all
		time.Sleep(900 * time.Millisecond)
		wantReads(3)
		time.Sleep(200 * time.Millisecond)
		wantReads(4)
		away := errors.New("away")
		n.err.Store(&away)
		time.Sleep(500 * time.Millisecond)
		wantReads(4) // still good
		time.Sleep(time.Second)
		if err := f.Current(t.Context()); !fault.Is(err, fault.Unavailable) || fault.From(err).Message != "nobody knows" {
			t.Errorf("a feed that cannot be read: %v", err)
		}
		n.err.Store(nil)
		if err := f.Current(t.Context()); err != nil {
			t.Errorf("a feed that can be read again: %v", err)
		}
	})
}

func TestRunReadsOnHintsAndWithout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hints := busmem.New()
		here, there := &news{}, &news{}
		teller := feed.New(feed.Config{Subject: "s", Read: here.read, Hints: hints})
		f := feed.New(feed.Config{Subject: "s", Read: there.read, Hints: hints})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- f.Run(ctx) }()
		synctest.Wait()
		teller.Tell(ctx)
		synctest.Wait()
		if n := there.reads.Load(); n != 1 {
			t.Errorf("%d readings after a hint", n)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if n := there.reads.Load(); n < 10 {
			t.Errorf("%d readings in five seconds without a hint", n)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := hints.Close(); err != nil {
			t.Error(err)
		}
	})
}
