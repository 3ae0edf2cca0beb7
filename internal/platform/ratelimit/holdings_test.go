package ratelimit

import (
	"context"
	"testing"
	"testing/synctest"
)

// Bytes of one key are shared out first come, first served; another key's are its own, and
// whoever gives up lets those behind in.
func TestHoldingsAreOfEachKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := NewHoldings(10, 1)
		take := func(key string, ctx context.Context, n int64) (*Holding, *error) {
			h, err := all.Begin(key), context.DeadlineExceeded
			go func() { err = h.Take(ctx, n) }()
			synctest.Wait()
			return h, &err
		}
		first, a := take("a", t.Context(), 6)
		gone, cancel := context.WithCancel(t.Context())
		_, b := take("a", gone, 1000) // more than there is: all of it
		small, c := take("a", t.Context(), 4)
		other, d := take("b", t.Context(), 10)
		if *a != nil || *b == nil || *c == nil || *d != nil {
			t.Fatal(*a, *b, *c, *d)
		}
		if err := first.Take(t.Context(), 7); err != nil { // it has some, and does not wait
			t.Fatal(err)
		}
		cancel()
		synctest.Wait()
		if *b == nil || *c == nil {
			t.Fatal(*b, *c)
		}
		first.Keep(2)
		synctest.Wait()
		if *c != nil {
			t.Fatal(*c)
		}
		large, e := take("a", t.Context(), 9)
		small.Leave()
		synctest.Wait()
		if *e == nil {
			t.Fatal("two and nine were let into ten")
		}
		first.Leave()
		first.Leave()
		synctest.Wait()
		if *e != nil {
			t.Fatal(*e)
		}
		large.Leave()
		other.Leave()
		if len(all.keys) != 0 {
			t.Errorf("%d keys are remembered", len(all.keys))
		}
	})
}

// Work is counted apart from what is held, and a request without a holding is not counted.
func TestHoldingsLetSoManyWork(t *testing.T) {
	t.Parallel()
	all := NewHoldings(10, 1)
	ctx := all.Begin("a").In(t.Context())
	done, err := HoldingOf(ctx).Work(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := HoldingOf(ended).Work(ended); err == nil {
		t.Error("two work at a time")
	}
	done()
	if done, err = HoldingOf(ctx).Work(ctx); err != nil {
		t.Fatal(err)
	}
	done()
	var none *Holdings
	nobody := none.Begin("a")
	if err := nobody.Take(nobody.In(t.Context()), 1<<40); err != nil || HoldingOf(t.Context()) != nil {
		t.Error(err)
	}
	nobody.Leave()
}
