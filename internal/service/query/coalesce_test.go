package query_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/castalia-org/castalia/internal/service/query"
)

// slowChain answers with the block that was the newest when it was asked, a
// second later.
type slowChain struct {
	*boxes

	height atomic.Int64
	calls  atomic.Int64
}

func (c *slowChain) Head() query.Head {
	return query.Head{Height: c.height.Load(), Seen: time.Now()}
}

func (c *slowChain) Invoke(context.Context, query.Call) (query.Reply, error) {
	c.calls.Add(1)
	height := c.height.Load()
	time.Sleep(time.Second)
	return query.Reply{Height: height}, nil
}

// TestACallFromBeforeTheBlockIsNotShared lets those share a call who may have
// its answer: who has seen a block does not get the state before it.
func TestACallFromBeforeTheBlockIsNotShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		known, _ := newBoxes(t)
		chain := &slowChain{boxes: known}
		chain.height.Store(10)
		g := query.New([]query.Chain{chain}, query.Config{})
		heights := make(chan int64, 4)
		ask := func() { heights <- askBoxes(t, g, "").Height }
		want := func(heightsWanted ...int64) {
			t.Helper()
			for _, height := range heightsWanted {
				if got := <-heights; got != height {
					t.Errorf("the state at %d, want %d", got, height)
				}
			}
		}
		go ask()
		go ask()
		synctest.Wait()
		chain.height.Store(11)
		go ask() // by somebody who knows of the block
		go ask()
		want(10, 10, 11, 11)
		if n := chain.calls.Load(); n != 2 {
			t.Errorf("%d calls", n)
		}
	})
}

// silentChain has a node that never answers; it is asked first.
type silentChain struct {
	*slowChain
}

func (c *silentChain) Invoke(ctx context.Context, call query.Call) (query.Reply, error) {
	if c.calls.Load() > 0 {
		return c.slowChain.Invoke(ctx, call)
	}
	c.calls.Add(1)
	<-ctx.Done()
	return query.Reply{}, ctx.Err()
}

// TestASilentNodeTakesNobodyWithIt: who comes later asks anew, at a node that
// answers, and does not wait for the call that got stuck.
func TestASilentNodeTakesNobodyWithIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		known, _ := newBoxes(t)
		chain := &silentChain{&slowChain{boxes: known}}
		chain.height.Store(10)
		g := query.New([]query.Chain{chain}, query.Config{})
		found, err := g.Find("GET", "/q")
		if err != nil {
			t.Fatal(err)
		}
		stuck := make(chan error, 1)
		go func() {
			_, err := g.Answer(t.Context(), found, query.Ask{})
			stuck <- err
		}()
		time.Sleep(4 * time.Second)
		start := time.Now()
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if a := askBoxes(t, g, ""); a.Height != 10 || time.Since(start) != time.Second {
					t.Errorf("the state at %d after %s", a.Height, time.Since(start))
				}
			})
		}
		both.Wait()
		if n := chain.calls.Load(); n != 2 {
			t.Errorf("%d calls", n)
		}
		if status, ok := errors.AsType[*query.StatusError](<-stuck); !ok || status.Code != codes.DeadlineExceeded {
			t.Errorf("the first one: %v", status)
		}
	})
}
