package pgline

import (
	"context"
	"slices"
	"sync"
	"time"
)

// crowd is the lane of those that lost against they do not know whom.
const crowd = "conflict"

const (
	// lostHere is after how many conflicts one that waits for its own lanes waits for that
	// of all who lost, too: where tables are small, it is not its feed that it lost by.
	lostHere = 2
	// lostOften is after how many a transaction goes alone.
	lostOften = 4
	// aloneWait is how long it waits for those that have begun, before it goes beside them.
	aloneWait = 250 * time.Millisecond
)

// Lose notes a conflict, and for what to wait before the next try.
func (p *Pass) Lose() {
	p.lost++
	if len(p.Wanted) == 0 || p.lost >= lostHere {
		p.Want(crowd)
	}
}

// Begin lets a transaction begin, which holds its lanes by now, and returns what ends it.
// One that lost again and again, to those who are new, begins when those of this process
// are over, and new ones wait until it is. There is one at a time, for it is in the lane
// of all who lost.
func (p *Pass) Begin(ctx context.Context) (end func(), err error) {
	if p.lost < lostOften || !slices.Contains(p.Held, crowd) {
		return func() { p.Lanes.gate.leave(1, false) }, p.Lanes.gate.enter(ctx)
	}
	return func() { p.Lanes.gate.leave(1, true) }, p.Lanes.gate.enterAlone(ctx)
}

// gate is what transactions of this process go through.
type gate struct {
	mu     sync.Mutex
	inside int
	shut   bool
	moved  chan struct{} // closed when somebody leaves; nil when nobody waits
}

// wait returns a channel that is closed when somebody leaves. The gate is locked.
func (g *gate) wait() <-chan struct{} {
	if g.moved == nil {
		g.moved = make(chan struct{})
	}
	return g.moved
}

func (g *gate) enter(ctx context.Context) error {
	for {
		g.mu.Lock()
		if !g.shut {
			g.inside++
			g.mu.Unlock()
			return nil
		}
		moved := g.wait()
		g.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// enterAlone shuts the gate. Whoever was quick has left before long; for one that takes its
// time nobody waits.
func (g *gate) enterAlone(ctx context.Context) error {
	late := time.NewTimer(aloneWait)
	defer late.Stop()
	for waited := false; ; {
		g.mu.Lock()
		g.shut = true
		if g.inside == 0 || waited {
			g.inside++
			g.mu.Unlock()
			return nil
		}
		moved := g.wait()
		g.mu.Unlock()
		select {
		case <-moved:
		case <-late.C:
			waited = true
		case <-ctx.Done():
			g.leave(0, true)
			return ctx.Err()
		}
	}
}

// leave takes so many out, and opens what was shut.
func (g *gate) leave(n int, open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside -= n
	if open {
		g.shut = false
	}
	if g.moved != nil {
		close(g.moved)
		g.moved = nil
	}
}
