package pgline

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// loser returns a pass in the lane of those who lost, which lost so often that it goes alone.
func loser(t *testing.T, ls *Lanes) *Pass {
	t.Helper()
	p := &Pass{Lanes: ls}
	for range lostOften {
		p.Lose()
	}
	if err := p.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

func begin(t *testing.T, p *Pass) (end func()) {
	t.Helper()
	end, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return end
}

// TestWhoLostOftenGoesAlone has a loser wait for one that has begun, and a new one for the loser.
func TestWhoLostOftenGoesAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ls Lanes
		began := begin(t, &Pass{Lanes: &ls})
		order := make(chan string, 3)
		p := loser(t, &ls)
		go func() {
			end := begin(t, p)
			order <- "loser"
			time.Sleep(time.Millisecond)
			order <- "loser is through"
			end()
		}()
		synctest.Wait()
		go func() {
			end := begin(t, &Pass{Lanes: &ls})
			order <- "new"
			end()
		}()
		synctest.Wait()
		if len(order) > 0 {
			t.Errorf("%s begins beside one that has begun", <-order)
		}
		began()
		for _, want := range []string{"loser", "loser is through", "new"} {
			if got := <-order; got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		synctest.Wait()
		p.Leave()
	})
}

// TestNobodyWaitsLongForTheGate has one inside that takes its time: the loser goes beside it
// before long, and one who leaves while it waits lets the others in.
func TestNobodyWaitsLongForTheGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ls Lanes
		slow := begin(t, &Pass{Lanes: &ls})
		p := loser(t, &ls)
		ctx, cancel := context.WithTimeout(t.Context(), aloneWait/2)
		defer cancel()
		if _, err := p.Begin(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("one whose time is up: %v", err)
		}
		begin(t, &Pass{Lanes: &ls})() // the gate is open again
		start := time.Now()
		end := begin(t, p)
		if took := time.Since(start); took != aloneWait {
			t.Errorf("it waited %s for a slow one", took)
		}
		if _, err := (&Pass{Lanes: &ls}).Begin(ended(t)); !errors.Is(err, context.Canceled) {
			t.Errorf("a new one beside it: %v", err)
		}
		end()
		begin(t, &Pass{Lanes: &ls})()
		slow()
		p.Leave()
		if ls.gate.inside != 0 || ls.gate.shut {
			t.Errorf("the gate is left with %d inside, shut: %t", ls.gate.inside, ls.gate.shut)
		}
	})
}

func ended(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
