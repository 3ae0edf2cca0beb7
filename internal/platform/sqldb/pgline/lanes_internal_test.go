package pgline

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

func TestLanesLetOneThroughAndAreForgotten(t *testing.T) {
	t.Parallel()
	var ls Lanes
	names := []string{"a", "b", "c"}
	inside := map[string]*atomic.Int32{}
	for _, name := range names {
		inside[name] = new(atomic.Int32)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				p := &Pass{Lanes: &ls}
				for range rand.N(4) {
					p.Want(names[rand.N(len(names))])
				}
				if err := p.Enter(t.Context()); err != nil {
					t.Error(err)
					return
				}
				p.Claim(names[rand.N(len(names))]) // may be refused, never waits
				for _, name := range p.Held {
					if inside[name].Add(1) != 1 {
						t.Errorf("two in lane %s", name)
					}
				}
				for _, name := range p.Held {
					inside[name].Add(-1)
				}
				p.Leave()
			}
		})
	}
	wg.Wait()
	if len(ls.open) != 0 {
		t.Errorf("%d lanes are remembered", len(ls.open))
	}
}

func TestWaitingForALaneEndsWithTheContext(t *testing.T) {
	t.Parallel()
	var ls Lanes
	holder := &Pass{Lanes: &ls, Wanted: []string{"b"}}
	if err := holder.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	waiter := &Pass{Lanes: &ls, Wanted: []string{"a", "b"}}
	if err := waiter.Enter(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("enter: %v", err)
	}
	if len(waiter.Held) != 0 || waiter.Claim("b") {
		t.Errorf("who gave up holds %q", waiter.Held)
	}
	holder.Leave()
	if !waiter.Claim("b") {
		t.Error("a lane that was left is not free")
	}
	waiter.Leave()
	if len(ls.open) != 0 {
		t.Errorf("%d lanes are remembered", len(ls.open))
	}
}
