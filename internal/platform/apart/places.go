package apart

import (
	"context"
	"sync"
)

// places are the processes that may run at once. Whoever waits for one stands in a
// lane, and lanes take turns: nobody waits for a second process of somebody else's.
type places struct {
	mu    sync.Mutex
	free  int
	turns []string // lanes with somebody in them, the next first
	lanes map[string][]*waiter
}

// waiter is somebody in a lane. Its channel is closed when it has its place.
type waiter struct{ ready chan struct{} }

func newPlaces(n int) *places { return &places{free: n, lanes: map[string][]*waiter{}} }

// enter waits for a place until ctx ends. Whoever has one leaves.
func (p *places) enter(ctx context.Context, lane string) error {
	p.mu.Lock()
	if p.free > 0 { // then nobody waits
		p.free--
		p.mu.Unlock()
		return nil
	}
	w := &waiter{make(chan struct{})}
	if len(p.lanes[lane]) == 0 {
		p.turns = append(p.turns, lane)
	}
	p.lanes[lane] = append(p.lanes[lane], w)
	p.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	if p.drop(lane, w) {
		return ctx.Err()
	}
	p.leave() // it came at the same time
	return ctx.Err()
}

// leave hands a place to whose turn it is.
func (p *places) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.turns) == 0 {
		p.free++
		return
	}
	lane := p.turns[0]
	p.turns = p.turns[1:]
	w := p.lanes[lane][0]
	if p.lanes[lane] = p.lanes[lane][1:]; len(p.lanes[lane]) > 0 {
		p.turns = append(p.turns, lane)
	} else {
		delete(p.lanes, lane)
	}
	close(w.ready)
}

// drop takes somebody out of a lane. False says that it has a place.
func (p *places) drop(lane string, w *waiter) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, one := range p.lanes[lane] {
		if one != w {
			continue
		}
		if p.lanes[lane] = append(p.lanes[lane][:i:i], p.lanes[lane][i+1:]...); len(p.lanes[lane]) == 0 {
			delete(p.lanes, lane)
			p.turns = without(p.turns, lane)
		}
		return true
	}
	return false
}

func without(turns []string, lane string) []string {
	kept := make([]string, 0, len(turns))
	for _, one := range turns {
		if one != lane {
			kept = append(kept, one)
		}
	}
	return kept
}
