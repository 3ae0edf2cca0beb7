package sqldb

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
	var ls lanes
	names := []string{"a", "b", "c"}
	inside := map[string]*atomic.Int32{}
	for _, name := range names {
		inside[name] = new(atomic.Int32)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				p := &pass{lanes: &ls}
				for range rand.N(4) {
					p.want(names[rand.N(len(names))])
				}
				if err := p.enter(t.Context()); err != nil {
					t.Error(err)
					return
				}
				p.claim(names[rand.N(len(names))]) // may be refused, never waits
				for _, name := range p.held {
					if inside[name].Add(1) != 1 {
						t.Errorf("two in lane %s", name)
					}
				}
				for _, name := range p.held {
					inside[name].Add(-1)
				}
				p.leave()
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
	var ls lanes
	holder := &pass{lanes: &ls, wanted: []string{"b"}}
	if err := holder.enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	waiter := &pass{lanes: &ls, wanted: []string{"a", "b"}}
	if err := waiter.enter(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("enter: %v", err)
	}
	if len(waiter.held) != 0 || waiter.claim("b") {
		t.Errorf("who gave up holds %q", waiter.held)
	}
	holder.leave()
	if !waiter.claim("b") {
		t.Error("a lane that was left is not free")
	}
	waiter.leave()
	if len(ls.open) != 0 {
		t.Errorf("%d lanes are remembered", len(ls.open))
	}
}
