package pgline

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

// A server that has no connection left refuses new ones (53300). Whoever asked
// then waits for one that this node holds, as if the pool were that small, until
// it is tried again whether there are more.

// shortFor is how long a pool stays as small as the server made it.
const shortFor = 5 * time.Second

// idleFor is how long a connection is kept that nobody uses.
const idleFor = 5 * time.Minute

// Pool is the size of a sql.DB.
type Pool struct {
	DB    *sql.DB
	Other *Pool // to the same server
	size  int

	// Hasty says that who waits for a connection is told at once that the server says
	// nothing, when another has just found that out: see Connect.
	Hasty bool

	mu     sync.Mutex
	short  bool
	silent time.Time // until when the server is taken for one that says nothing
	why    error     // what was found then
}

// Limit sets the size that the pool is to have.
func (p *Pool) Limit(size int) {
	p.size = size
	p.resize(size)
	p.DB.SetConnMaxIdleTime(idleFor)
}

func (p *Pool) resize(n int) {
	p.DB.SetMaxOpenConns(n)
	p.DB.SetMaxIdleConns(n)
}

// refused makes the pool as small as what it holds, and says whether it holds
// anything to wait for.
func (p *Pool) refused() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	stats := p.DB.Stats()
	held := max(stats.InUse+stats.Idle-1, stats.Idle) // the one that was refused is counted too
	if held == 0 {
		return false
	}
	p.shrink(held)
	return true
}

// shrink makes the pool smaller for a while; the mutex is held.
func (p *Pool) shrink(n int) {
	p.resize(n)
	if !p.short {
		p.short = true
		time.AfterFunc(shortFor, p.recover)
	}
}

// recover lets the pool grow again.
func (p *Pool) recover() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.short = false
	p.resize(p.size)
}

// Short reports that the server has fewer connections than the pool wants.
func (p *Pool) Short() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.short
}

// Connect opens a connection. When the server has none left, the pool asks again
// and waits, since it is full now, for one that it holds; one that holds none gets
// some of the other's.
//
// Those for whom a pool has no place are served by one attempt after the other. Beside a
// server that says nothing each costs the whole time limit, and the twentieth would wait a
// minute: in a hasty pool they hear what the first one found.
func (p *Pool) Connect(ctx context.Context, to driver.Connector, exhausted func(error) bool) (driver.Conn, error) {
	for end := time.Now().Add(shortFor); ; {
		if err := p.isSilent(); err != nil {
			return nil, err
		}
		conn, err := to.Connect(ctx)
		if !exhausted(err) {
			p.heard(ctx, err)
			return conn, err
		}
		if p.refused() {
			return nil, driver.ErrBadConn
		}
		p.Other.yield()
		if time.Now().After(end) || Pause(ctx, 100*time.Millisecond) != nil {
			return nil, err
		}
	}
}

// silentFor is how long a server is taken for one that says nothing, after it said
// nothing to somebody for the whole time limit.
const silentFor = time.Second

func (p *Pool) isSilent() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Now().Before(p.silent) {
		return p.why
	}
	return nil
}

// heard notes what an attempt found out. Whoever gave up before the driver did says
// nothing about the server.
func (p *Pool) heard(ctx context.Context, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.silent = time.Time{}
	case p.Hasty && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		p.silent, p.why = time.Now().Add(silentFor), err
	}
}

// yield gives up half of what the pool holds, as soon as it is idle.
func (p *Pool) yield() {
	p.mu.Lock()
	defer p.mu.Unlock()
	stats := p.DB.Stats()
	p.shrink(max(1, (stats.InUse+stats.Idle)/2))
}

// Pause waits, unless the context ends before.
func Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

const maxPause = 100 * time.Millisecond

// PauseBefore waits a random time that grows with the tries.
func PauseBefore(ctx context.Context, try int) error {
	//nolint:gosec // spreads retries, guards nothing
	return Pause(ctx, rand.N(min(maxPause, time.Millisecond<<min(try, 10))))
}
