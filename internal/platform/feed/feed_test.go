package feed_test

import (
	"context"
	"errors"
	"sync"
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

// shared is a database with two feeds, and counts how often its heads were read.
type shared struct {
	looks     atomic.Int64
	one, two  atomic.Int64
	unhealthy atomic.Bool
}

func (s *shared) read(context.Context, []string) (feed.Seen, error) {
	s.looks.Add(1)
	if s.unhealthy.Load() {
		return feed.Seen{}, errors.New("away")
	}
	return feed.Seen{Last: map[string]int64{"one": s.one.Load(), "two": s.two.Load()}}, nil
}

// TestOneLookServesAllFeeds has two followers rest while nothing moves, though neither ever
// knows less than it would by its own readings; each reads when its feed moves, and when
// nobody can say whether it has.
func TestOneLookServesAllFeeds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &shared{}
		heads := &feed.Heads{Read: s.read}
		one, two := &news{}, &news{}
		first := feed.New(feed.Config{Subject: "1", Read: one.read, Head: heads.Of("one")})
		second := feed.New(feed.Config{Subject: "2", Read: two.read, Head: heads.Of("two", "three")})
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for _, run := range []func(context.Context) error{heads.Run, first.Run, second.Run} {
			all.Go(func() {
				if err := run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		want := func(when string, ones, twos int64) {
			t.Helper()
			synctest.Wait()
			if a, b := one.reads.Load(), two.reads.Load(); a != ones || b != twos {
				t.Errorf("%s: %d and %d readings, want %d and %d", when, a, b, ones, twos)
			}
		}
		time.Sleep(time.Millisecond)
		want("at the start", 1, 1)
		for range 100 {
			time.Sleep(100 * time.Millisecond)
			if err := errors.Join(first.Current(ctx), second.Current(ctx)); err != nil {
				t.Error(err)
			}
		}
		want("in ten quiet seconds", 1, 1)
		if n := s.looks.Load(); n < 20 || n > 22 {
			t.Errorf("%d looks in ten seconds", n)
		}
		s.two.Add(1)
		time.Sleep(500 * time.Millisecond)
		want("when one feed moved", 1, 2)
		s.unhealthy.Store(true)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if a, b := one.reads.Load(), two.reads.Load(); a < 2 || b < 3 {
			t.Errorf("%d and %d readings while heads cannot be read", a, b)
		}
		stop()
		all.Wait()
	})
}

// TestAFeedThatMovesWhileItIsReadIsReadAgain moves a feed between the look and the end of
// the reading that it caused.
func TestAFeedThatMovesWhileItIsReadIsReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &shared{}
		heads := &feed.Heads{Read: s.read}
		var reads atomic.Int64
		f := feed.New(feed.Config{Subject: "1", Head: heads.Of("one"), Read: func(ctx context.Context) (bool, error) {
			if reads.Add(1) == 1 { // what it sees is what was there before
				s.one.Add(1)
				return false, heads.Look(ctx)
			}
			return false, nil
		}})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- f.Run(ctx) }()
		if err := heads.Look(ctx); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		if err := heads.Look(ctx); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := reads.Load(); n < 2 {
			t.Errorf("%d readings: what came during the first is not known", n)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
