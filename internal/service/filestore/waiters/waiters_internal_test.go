package waiters

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Whoever follows and leaves is forgotten: namespaces are free, and memory is not.
func TestWhoLeavesIsForgotten(t *testing.T) {
	t.Parallel()
	w := New()
	one, two := w.Follow("a"), w.Follow("a")
	before := one.Watch()
	one.Leave()
	w.Wake("a")
	<-before
	again := two.Watch()
	select {
	case <-again:
		t.Error("woken by what was before")
	default:
	}
	w.Wake("a")
	<-again
	two.Leave()
	w.Wake("a")
	w.Follow("b").Leave()
	if len(w.by) != 0 {
		t.Errorf("%d namespaces are remembered", len(w.by))
	}
}

// Each change wakes all, and what they do then grows neither with the changes nor with
// their number; the last change is seen by each.
func TestManyFollowersLookSeldom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		followers, changes int
		most               int64
		seen               time.Duration
	}{{1, 300, 302, 0}, {16, 300, 16 * 302, 0}, {600, 300, 600 * 8, 1200 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			w, ctx := New(), t.Context()
			var newest, looks atomic.Int64
			var last time.Time
			var wg sync.WaitGroup
			for range c.followers {
				f := w.Follow("a")
				wg.Go(func() {
					defer f.Leave()
					for {
						changed := f.Watch()
						looks.Add(1)
						if newest.Load() == int64(c.changes) {
							break
						}
						if err := f.Await(ctx, changed); err != nil {
							t.Error(err)
							return
						}
					}
					if late := time.Since(last); late > c.seen {
						t.Errorf("of %d followers one saw the last change after %s", c.followers, late)
					}
				})
			}
			synctest.Wait()
			for n := range c.changes {
				time.Sleep(10 * time.Millisecond)
				if n == c.changes-1 {
					last = time.Now()
				}
				newest.Add(1)
				w.Wake("a")
			}
			wg.Wait()
			if n := looks.Load(); n > c.most {
				t.Errorf("%d followers of %d changes looked %d times, at most %d are wanted", c.followers, c.changes, n, c.most)
			}
		})
	}
}

// Nobody hears of some changes, of another node's, and nobody waits beyond their request.
func TestFollowersLookByThemselves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := New().Follow("a")
		defer f.Leave()
		began := time.Now()
		if err := f.Await(t.Context(), f.Watch()); err != nil || time.Since(began) != poll {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), poll/2)
		defer cancel()
		if err := f.Await(ctx, f.Watch()); err == nil {
			t.Error("its request has ended")
		}
	})
}
