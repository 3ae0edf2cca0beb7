package ratelimit

import (
	"cmp"
	"context"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// GateConfig describes a gate.
type GateConfig struct {
	// Budget is the time a minute that one network may take before its further
	// turns have to queue; 0 or less: no gate.
	Budget time.Duration
	// Ahead is set aside of the budget while a turn runs, and 0 for turns so short that
	// one network cannot take all slots before the first of them has ended.
	Ahead time.Duration
	// Wait is how long somebody queues before the refusal; 0 is two seconds.
	Wait time.Duration
	// Slots is how many turns run at a time; 0 is twice the processors. Networks
	// beyond their budget have half of them at most.
	Slots int
	// MaxWaiting bounds the queue; 0 is 8192. When it is full the network that
	// has most in it gives way.
	MaxWaiting int
	// MaxNetworks bounds what is remembered of quiet networks; 0 is 32768. Beyond
	// it the one that was quiet for longest is forgotten.
	MaxNetworks int
}

// Gate shares out time between networks. Turns within the budget come first,
// turns beyond it get what is left and at least every fourth place; both go
// round robin by network, in order of arrival within one. As long as there are
// slots nobody waits, whatever was spent: a budget only says who stands back
// when there is not enough for all.
//
// A nil Gate lets everybody through.
type Gate struct {
	cfg  GateConfig
	slow int // most slots for networks beyond their budget

	mu       sync.Mutex
	running  int
	beyond   int // of those that run
	waiting  int
	picked   uint
	within   ring[*network] // have somebody waiting and something left
	over     ring[*network] // have somebody waiting and nothing left
	idle     ring[*network] // have nobody here, the quietest first
	networks map[netip.Addr]*network

	refused, queued atomic.Uint64
}

// network is what is known of one client network.
type network struct {
	addr  netip.Addr
	left  time.Duration // of the budget, at the time; may be owed
	ahead time.Duration // set aside of it for those who run
	at    time.Time
	here  int // waiting, running or paused
	queue ring[*waiter]
	place link[*network] // in one of the gate's rings
}

// waiter is somebody in a queue. Its turn is set before ready is closed; without
// one it was sent away.
type waiter struct {
	of    *network
	ready chan struct{}
	turn  *Turn
	place link[*waiter]
}

// NewGate returns a gate, or nil when the configuration sets no budget.
func NewGate(cfg GateConfig) *Gate {
	if cfg.Budget <= 0 {
		return nil
	}
	cfg.Wait = cmp.Or(cfg.Wait, 2*time.Second)
	cfg.Slots = max(2, cmp.Or(cfg.Slots, 2*runtime.GOMAXPROCS(0)))
	cfg.MaxWaiting = cmp.Or(cfg.MaxWaiting, 8192)
	cfg.MaxNetworks = cmp.Or(cfg.MaxNetworks, 32768)
	return &Gate{cfg: cfg, slow: cfg.Slots / 2, networks: map[netip.Addr]*network{}}
}

// Enter waits for the address's turn. The caller does its work and calls Leave.
// An address that is not valid is nobody's in particular and is let through.
// The error is a Refusal, or ctx's own.
func (g *Gate) Enter(ctx context.Context, from netip.Addr) (*Turn, error) {
	if g == nil || !from.IsValid() {
		return nil, nil //nolint:nilnil // a nil Turn is one that nobody counts
	}
	w := g.line(NetworkOf(from))
	if w == nil {
		return nil, Refusal(g.cfg.Wait)
	}
	select {
	case <-w.ready:
		return g.admitted(w)
	default:
	}
	g.queued.Add(1)
	timer := time.NewTimer(g.cfg.Wait)
	defer timer.Stop()
	select {
	case <-w.ready:
		return g.admitted(w)
	case <-timer.C:
	case <-ctx.Done():
	}
	if !g.giveUp(w) { // its turn came in the same instant
		return g.admitted(w)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	g.refused.Add(1)
	return nil, Refusal(g.cfg.Wait)
}

func (g *Gate) admitted(w *waiter) (*Turn, error) {
	if w.turn == nil {
		g.refused.Add(1)
		return nil, Refusal(g.cfg.Wait)
	}
	return w.turn, nil
}

// line puts somebody into the queue of a network. Nil says that there is no room.
func (g *Gate) line(addr netip.Addr) *waiter {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.find(addr, now)
	if g.waiting >= g.cfg.MaxWaiting && !g.makeRoom(n) {
		g.refused.Add(1)
		g.part(n)
		return nil
	}
	w := &waiter{of: n, ready: make(chan struct{})}
	w.place.value = w
	n.queue.push(&w.place)
	g.waiting++
	if n.queue.len == 1 {
		g.join(n, now)
	}
	g.dispatch(now)
	return w
}

// find returns the network, with one more who is here.
func (g *Gate) find(addr netip.Addr, now time.Time) *network {
	n := g.networks[addr]
	if n == nil {
		n = &network{addr: addr, left: g.cfg.Budget, at: now}
		n.place.value = n
		g.networks[addr] = n
	}
	if n.here == 0 {
		n.place.leave()
	}
	n.here++
	return n
}

// part notes that somebody of the network went.
func (g *Gate) part(n *network) {
	if n.here--; n.here > 0 {
		return
	}
	g.idle.push(&n.place)
	for quiet := g.idle.first; quiet != nil && len(g.networks) > g.cfg.MaxNetworks; quiet = g.idle.first {
		quiet.leave()
		delete(g.networks, quiet.value.addr)
	}
}

// fewLooked is how many networks are compared when the queue is full. They come
// by in turn, so that the fullest is found soon, and a flood pays no search.
const fewLooked = 16

// makeRoom sends the last of a longer queue away, if there is one.
func (g *Gate) makeRoom(n *network) bool {
	longest, looked := n, 0
	for _, r := range [...]*ring[*network]{&g.over, &g.within} {
		for at := r.last; at != nil && looked < fewLooked; at = at.prev {
			if looked++; at.value.queue.len > longest.queue.len {
				longest = at.value
			}
		}
	}
	if longest.queue.len <= n.queue.len+1 {
		return false
	}
	w := longest.queue.last.value
	g.drop(w)
	close(w.ready)
	return true
}

// drop takes somebody out of a queue.
func (g *Gate) drop(w *waiter) {
	w.place.leave()
	g.waiting--
	if w.of.queue.len == 0 {
		w.of.place.leave()
	}
	g.part(w.of)
}

// giveUp ends a wait. False says that it has ended already.
func (g *Gate) giveUp(w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-w.ready:
		return false
	default:
	}
	g.drop(w)
	return true
}

// join puts a network with somebody waiting at the end of its ring.
func (g *Gate) join(n *network, now time.Time) {
	if g.refill(n, now) > 0 {
		g.within.push(&n.place)
	} else {
		g.over.push(&n.place)
	}
}

// refill returns what is left to the network now.
func (g *Gate) refill(n *network, now time.Time) time.Duration {
	if passed := now.Sub(n.at); passed > 0 {
		back := time.Duration(float64(passed) / float64(time.Minute) * float64(g.cfg.Budget))
		n.left = min(g.cfg.Budget, n.left+back)
		n.at = now
	}
	return n.left - n.ahead
}

// dispatch gives turns to those who wait, as far as there are slots.
func (g *Gate) dispatch(now time.Time) {
	for g.running < g.cfg.Slots {
		n := g.pick(now)
		if n == nil {
			return
		}
		w := n.queue.first.value
		w.place.leave()
		g.waiting--
		w.turn = &Turn{gate: g, of: n, over: n.left <= n.ahead}
		g.start(w.turn, now)
		close(w.ready)
		if n.queue.len > 0 {
			g.join(n, now)
		}
	}
}

// overEvery is how often the networks beyond their budget come first.
const overEvery = 4

// pick takes the network whose turn it is out of its ring.
func (g *Gate) pick(now time.Time) *network {
	for at := g.within.first; at != nil && g.refill(at.value, now) <= 0; at = g.within.first {
		at.leave()
		g.over.push(at)
	}
	at := g.within.first
	if over := g.over.first; over != nil && g.beyond < g.slow && (at == nil || (g.picked+1)%overEvery == 0) {
		at = over
	}
	if at == nil {
		return nil
	}
	g.picked++
	at.leave()
	g.refill(at.value, now)
	return at.value
}

// GateStats are figures for operators.
type GateStats struct {
	// Queued counts those who had to wait, Refused those who waited too long or
	// found no room.
	Queued, Refused uint64
	// Waiting is how many wait now, Networks how many networks are remembered.
	Waiting, Networks int
}

// Stats returns the figures.
func (g *Gate) Stats() GateStats {
	if g == nil {
		return GateStats{}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return GateStats{Queued: g.queued.Load(), Refused: g.refused.Load(), Waiting: g.waiting, Networks: len(g.networks)}
}

// Turn is the right to work. It belongs to one goroutine. A nil Turn counts
// nothing.
type Turn struct {
	gate  *Gate
	of    *network
	over  bool
	began time.Time
	runs  bool
}

func (g *Gate) start(t *Turn, now time.Time) {
	t.began, t.runs = now, true
	t.of.ahead += g.cfg.Ahead
	g.running++
	if t.over {
		g.beyond++
	}
}

// stop charges for the work so far and frees the slot.
func (g *Gate) stop(t *Turn, now time.Time) {
	if !t.runs {
		return
	}
	t.runs = false
	t.of.ahead -= g.cfg.Ahead
	g.running--
	if t.over {
		g.beyond--
	}
	g.refill(t.of, now)
	// Debts are bounded, so that a network has recovered two minutes after a flood.
	t.of.left = max(-g.cfg.Budget, t.of.left-now.Sub(t.began))
}

// Pause frees the slot while the work waits for somebody else, which costs us
// nothing: a slow answer from elsewhere must not hold others up.
func (t *Turn) Pause() {
	if t == nil {
		return
	}
	now := time.Now()
	t.gate.mu.Lock()
	defer t.gate.mu.Unlock()
	t.gate.stop(t, now)
	t.gate.dispatch(now)
}

// Resume goes on after Pause, without another wait.
func (t *Turn) Resume() {
	if t == nil {
		return
	}
	now := time.Now()
	t.gate.mu.Lock()
	defer t.gate.mu.Unlock()
	if !t.runs {
		t.gate.start(t, now)
	}
}

// Leave ends the turn.
func (t *Turn) Leave() {
	if t == nil {
		return
	}
	now := time.Now()
	g := t.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stop(t, now)
	g.part(t.of)
	g.dispatch(now)
}
