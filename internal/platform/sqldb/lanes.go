package sqldb

import (
	"context"
	"slices"
	"sync"
)

// lanes are queues by name inside this process. On PostgreSQL writers that
// collided go through them one at a time, so that many writers of one feed or
// row take turns instead of defeating each other again and again.
//
// A transaction waits for lanes only before it begins, in the order of their
// names; inside it, it takes a lane that is free or gives up and comes back. So
// nobody waits for a lane while holding a lock of the database.
type lanes struct {
	mu   sync.Mutex
	open map[string]*lane
}

type lane struct {
	turn  chan struct{} // holds one token while somebody is in the lane
	users int           // in it or waiting; the lane is forgotten at zero
}

func (ls *lanes) join(name string) *lane {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.open[name]
	if l == nil {
		l = &lane{turn: make(chan struct{}, 1)}
		if ls.open == nil {
			ls.open = map[string]*lane{}
		}
		ls.open[name] = l
	}
	l.users++
	return l
}

func (ls *lanes) part(name string, l *lane) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(ls.open, name)
	}
}

// enter waits for the lane's turn.
func (ls *lanes) enter(ctx context.Context, name string) error {
	l := ls.join(name)
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		ls.part(name, l)
		return ctx.Err()
	}
}

// try enters the lane if nobody is in it.
func (ls *lanes) try(name string) bool {
	l := ls.join(name)
	select {
	case l.turn <- struct{}{}:
		return true
	default:
		ls.part(name, l)
		return false
	}
}

// leave ends one's turn.
func (ls *lanes) leave(name string) {
	ls.mu.Lock()
	l := ls.open[name]
	ls.mu.Unlock()
	<-l.turn
	ls.part(name, l)
}

// pass is what one transaction holds.
type pass struct {
	lanes *lanes
	held  []string
	// wanted are lanes that the next try enters before it begins.
	wanted []string
}

// want notes a lane for the next try.
func (p *pass) want(name string) {
	if !slices.Contains(p.wanted, name) {
		p.wanted = append(p.wanted, name)
		slices.Sort(p.wanted)
	}
}

// enter waits for every wanted lane.
func (p *pass) enter(ctx context.Context) error {
	for _, name := range p.wanted {
		if err := p.lanes.enter(ctx, name); err != nil {
			p.leave()
			return err
		}
		p.held = append(p.held, name)
	}
	return nil
}

// claim takes the lane inside a transaction, or notes it and reports false.
func (p *pass) claim(name string) bool {
	if slices.Contains(p.held, name) {
		return true
	}
	p.want(name)
	if !p.lanes.try(name) {
		return false
	}
	p.held = append(p.held, name)
	return true
}

// leave ends all turns.
func (p *pass) leave() {
	for _, name := range p.held {
		p.lanes.leave(name)
	}
	p.held = p.held[:0]
}
