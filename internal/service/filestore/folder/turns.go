package folder

import (
	"context"
	"sync"
	"time"
)

// An act that took longer than shortAct is followed by a rest of restTimes as long, and not of
// more than longestRest, in which the namespace begins no other on this node: an act keeps other
// writers waiting, and one after the other would keep them waiting for ever.
const (
	shortAct    = 500 * time.Millisecond
	restTimes   = 3
	longestRest = 10 * time.Second
)

// turns lets the acts of a namespace come one after the other, with rests.
type turns struct {
	now func() time.Time

	mu   sync.Mutex
	busy map[string]chan struct{} // closed when the next act may begin
}

// take waits for the turn of a namespace. over tells that its act is over.
func (t *turns) take(ctx context.Context, ns string) (over func(), err error) {
	mine := make(chan struct{})
	for {
		t.mu.Lock()
		before, busy := t.busy[ns]
		if !busy {
			t.busy[ns] = mine
			t.mu.Unlock()
			break
		}
		t.mu.Unlock()
		select {
		case <-before:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	began := t.now()
	return func() {
		rest := t.now().Sub(began)
		if rest < shortAct {
			t.free(ns, mine)
			return
		}
		time.AfterFunc(min(restTimes*rest, longestRest), func() { t.free(ns, mine) })
	}, nil
}

func (t *turns) free(ns string, mine chan struct{}) {
	t.mu.Lock()
	delete(t.busy, ns)
	t.mu.Unlock()
	close(mine)
}
