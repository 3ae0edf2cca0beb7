package pgline

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"time"
)

// Lanes are queues by name inside this process. On PostgreSQL writers that
// collided go through them one at a time, so that many writers of one feed or
// row take turns instead of defeating each other again and again.
//
// A transaction waits for lanes only before it begins, in the order of their
// names; inside it, it takes a lane that is free or gives up and comes back. So
// nobody waits for a lane while holding a lock of the database.
type Lanes struct {
	mu   sync.Mutex
	open map[string]*lane
	gate gate
}

type lane struct {
	turn  chan struct{} // holds one token while somebody is in the lane
	users int           // in it or waiting; the lane is forgotten at zero
}

func (ls *Lanes) join(name string) *lane {
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

func (ls *Lanes) release(name string, l *lane) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(ls.open, name)
	}
}

// enter waits for the lane's turn.
func (ls *Lanes) enter(ctx context.Context, name string) error {
	l := ls.join(name)
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		ls.release(name, l)
		return ctx.Err()
	}
}

// try enters the lane if nobody is in it.
func (ls *Lanes) try(name string) bool {
	l := ls.join(name)
	select {
	case l.turn <- struct{}{}:
		return true
	default:
		ls.release(name, l)
		return false
	}
}

// leave ends one's turn.
func (ls *Lanes) leave(name string) {
	ls.mu.Lock()
	l := ls.open[name]
	ls.mu.Unlock()
	<-l.turn
	ls.release(name, l)
}

// Pass is what one transaction holds.
type Pass struct {
	Lanes *Lanes
	Held  []string
	// Wanted are lanes that the next try enters before it begins.
	Wanted []string
	lost   int // conflicts
}

type turnKey struct{}

// InTurn has the transactions of a context wait for a lane, here and in the fleet, before
// they begin.
func InTurn(ctx context.Context, lane string) context.Context {
	return context.WithValue(ctx, turnKey{}, lane)
}

// Turn wants the lane of a context, and reports whether it has one.
func (p *Pass) Turn(ctx context.Context) bool {
	lane, ok := ctx.Value(turnKey{}).(string)
	if ok {
		p.Want(lane)
	}
	return ok
}

// Want notes a lane for the next try.
func (p *Pass) Want(name string) {
	if !slices.Contains(p.Wanted, name) {
		p.Wanted = append(p.Wanted, name)
		slices.Sort(p.Wanted)
	}
}

// Enter waits for every wanted lane.
func (p *Pass) Enter(ctx context.Context) error {
	for _, name := range p.Wanted {
		if err := p.Lanes.enter(ctx, name); err != nil {
			p.Leave()
			return err
		}
		p.Held = append(p.Held, name)
	}
	return nil
}

// Claim takes the lane inside a transaction, or notes it and reports false.
func (p *Pass) Claim(name string) bool {
	if slices.Contains(p.Held, name) {
		return true
	}
	p.Want(name)
	if !p.Lanes.try(name) {
		return false
	}
	p.Held = append(p.Held, name)
	return true
}

// Leave ends all turns.
func (p *Pass) Leave() {
	for _, name := range p.Held {
		p.Lanes.leave(name)
	}
	p.Held = p.Held[:0]
}

// What takes a turn in the fleet, and what ends it. The locks are the session's, since they
// are taken before the transaction and with it its snapshot begins. So for as long as it
// wants or has them the session is cut off when it rests outside of a transaction too, as
// it always is within one: a node that freezes while it waits would otherwise be given a
// turn that it never ends, and the fleet would wait with it. Afterwards (NULL) the session
// has the limit that it came with: ADR 0012.
const (
	takeTurn = `SELECT set_config('idle_session_timeout', current_setting('idle_in_transaction_session_timeout'), false),
		pg_advisory_lock($1)`
	endTurn      = `SELECT pg_advisory_unlock_all(), set_config('idle_session_timeout', NULL, false)`
	endTurnLimit = 3 * time.Second
)

// EnterFleet waits until nobody else in the fleet is in the lanes that are held here.
func (p *Pass) EnterFleet(ctx context.Context, conn *sql.Conn) (release func(), err error) {
	release = func() { //nolint:contextcheck // the locks must go whatever became of the caller
		free, cancel := context.WithTimeout(context.Background(), endTurnLimit)
		defer cancel()
		if _, err := conn.ExecContext(free, endTurn); err != nil {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // close it, and the locks with it
		}
	}
	for _, name := range p.Held {
		h := fnv.New64a()
		_, _ = h.Write([]byte(name))
		if _, err := conn.ExecContext(ctx, takeTurn, int64(h.Sum64())); err != nil { //nolint:gosec // any 64 bits will do
			release()
			return nil, fmt.Errorf("wait for lane %s: %w", name, err)
		}
	}
	return release, nil
}
