package pgline

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// How long a server is silent until it is asked, over another line, whether it
// lives, and how long its answer may take.
const (
	suspicion  = 3 * time.Second
	probeLimit = 2 * time.Second
)

// Patience bounds how long the server is waited for in vain. A line that went
// dead would otherwise hold whoever asks without a limit of their own, as workers
// do, until the system gives it up after a quarter of an hour, or never when it is
// the server that stands still. A server that answers nobody else either is given
// up sooner than one that is slow.
type Patience struct {
	lives  func() bool
	cancel context.CancelFunc
	limit  time.Duration
	over   atomic.Bool

	mu    sync.Mutex
	timer *time.Timer // nil: for ever
	turn  int         // counts what the server is waited for
}

// NewPatience returns the context of a statement, which ends with the caller's and
// with the patience. Forever has none. Lives says whether the server answers
// anybody.
func NewPatience(ctx context.Context, limit time.Duration, forever bool,
	lives func() bool,
) (context.Context, *Patience) {
	p := &Patience{lives: lives, limit: limit}
	ctx, p.cancel = context.WithCancel(ctx)
	if !forever {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.wait()
	}
	return ctx, p
}

// wait begins to count; the mutex is held.
func (p *Patience) wait() {
	p.turn++
	turn := p.turn
	p.timer = time.AfterFunc(suspicion, func() { p.doubt(turn) })
}

// doubt looks whether the server lives, and waits on for one that does.
func (p *Patience) doubt(turn int) {
	lives := p.lives()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.turn != turn: // it has answered meanwhile
	case lives:
		p.timer = time.AfterFunc(p.limit-suspicion, func() { p.giveUp(turn) })
	default:
		p.lose()
	}
}

func (p *Patience) giveUp(turn int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.turn == turn {
		p.lose()
	}
}

// lose is the end of the patience; the mutex is held.
func (p *Patience) lose() {
	p.over.Store(true)
	p.cancel()
}

// Rest says that the server is not waited for now, Again that it is.
func (p *Patience) Rest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop()
}

// stop ends the count; the mutex is held.
func (p *Patience) stop() {
	p.turn++
	if p.timer != nil {
		p.timer.Stop()
	}
}

// Again begins to count anew.
func (p *Patience) Again() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.stop()
		p.wait()
	}
}

// End gives back what the patience holds.
func (p *Patience) End() {
	p.Rest()
	p.cancel()
}

// Over says that the server was given up.
func (p *Patience) Over() bool { return p.over.Load() }
