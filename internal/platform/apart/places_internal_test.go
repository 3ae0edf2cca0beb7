package apart

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// Somebody with much to do does not stand before everybody else.
func TestLanesTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces(1)
		if err := p.enter(t.Context(), "held"); err != nil {
			t.Fatal(err)
		}
		var (
			mu    sync.Mutex
			order []string
		)
		for i, lane := range []string{"a", "a", "a", "b", "c", "b"} {
			go func() {
				if err := p.enter(t.Context(), lane); err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, fmt.Sprint(lane, i))
				mu.Unlock()
				p.leave()
			}()
			synctest.Wait()
		}
		p.leave()
		synctest.Wait()
		if want := []string{"a0", "b3", "c4", "a1", "b5", "a2"}; !slices.Equal(order, want) {
			t.Errorf("their turns came as %v, want %v", order, want)
		}
		if p.free != 1 || len(p.turns) != 0 || len(p.lanes) != 0 {
			t.Errorf("%d free, %v and %v wait", p.free, p.turns, p.lanes)
		}
	})
}

// Whoever leaves while waiting takes no place along.
func TestWhoGivesUpWaitingLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces(1)
		if err := p.enter(t.Context(), "held"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		for range 3 {
			go func() {
				if p.enter(ctx, "a") == nil {
					t.Error("it has a place")
				}
			}()
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		if len(p.turns) != 0 || len(p.lanes) != 0 {
			t.Errorf("%v and %v wait", p.turns, p.lanes)
		}
		p.leave()
		if err := p.enter(t.Context(), "b"); err != nil || p.free != 0 {
			t.Errorf("%v, %d free", err, p.free)
		}
		p.leave()
	})
}

// One that is handed its place while it gives up hands it on.
func TestAPlaceIsNeverLost(t *testing.T) {
	t.Parallel()
	p := newPlaces(2)
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			if i%3 == 0 {
				go cancel()
			}
			defer cancel()
			if p.enter(ctx, fmt.Sprint(i%7)) == nil {
				p.leave()
			}
		})
	}
	all.Wait()
	if p.free != 2 || len(p.turns) != 0 || len(p.lanes) != 0 {
		t.Errorf("%d free, %v and %v wait", p.free, p.turns, p.lanes)
	}
}
