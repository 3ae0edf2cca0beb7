package listener

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Table bounds the open connections. When it is full, a new connection
// takes the place of those that have waited longest for their client: to send
// a request, to send the rest of one, or to send the next. A request that is
// being worked on is never given up. So ten thousand clients that connect and
// say nothing push out one another, not those who speak.
//
// Answers that go on can fill a table all the same. A few places are therefore kept:
// connections come in there when every other one is served, and whoever serves them
// asks Late, and serves then only what keeps the program running.
type Table struct {
	max   int // without those that are kept
	kept  int
	mu    sync.Mutex
	all   map[*Conn]struct{}
	late  int           // how many of all have a place that is kept
	room  chan struct{} // signalled when a connection closes or begins to wait
	queue atomic.Int32  // how many new connections wait for room
	drops atomic.Int64
}

// maxKept bounds the places that are kept of a table.
const maxKept = 64

// NewTable returns a table for at most so many connections. A sixteenth of them, and
// at most 64, are kept.
func NewTable(most int) *Table {
	kept := min(most/16, maxKept)
	return &Table{max: most - kept, kept: kept, all: map[*Conn]struct{}{}, room: make(chan struct{}, 1)}
}

// Conn knows since when its client keeps us waiting.
type Conn struct {
	net.Conn
	table *Table
	peer  netip.Addr // parsed once for all requests; not valid when it is no IP address
	// since is when the wait began, in nanoseconds; 0 while a request is served.
	since atomic.Int64
	// busy is set from a request's headers to the end of its answer.
	busy     atomic.Bool
	hijacked atomic.Bool
	closed   atomic.Bool
	late     atomic.Bool // has one of the places that are kept; changes under table.mu
	// deadline is the write deadline, in nanoseconds; 0 when there is none.
	deadline atomic.Int64
	// held is what is written inside together.
	held *[]byte
	// covered tells that TLS runs over it.
	covered bool
}

// SetWriteDeadline moves the write deadline, and remembers it.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.remember(t)
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline moves both deadlines.
func (c *Conn) SetDeadline(t time.Time) error {
	c.remember(t)
	return c.Conn.SetDeadline(t)
}

// ExtendWriteDeadline gives writes until stall from now, when the deadline has
// aged: the timer costs more than the look at the clock, so answers in quick
// succession share one.
func (c *Conn) ExtendWriteDeadline(stall time.Duration) {
	if c == nil {
		return
	}
	now := time.Now()
	if set := c.deadline.Load(); time.Duration(set-now.UnixNano()) > stall-stall/16 {
		return
	}
	_ = c.SetWriteDeadline(now.Add(stall))
}

// Peer is the address at the other end, in the form in which addresses are
// compared; it is not valid when there is none.
func (c *Conn) Peer() netip.Addr {
	if c == nil {
		return netip.Addr{}
	}
	return c.peer
}

func (c *Conn) remember(t time.Time) {
	if t.IsZero() {
		c.deadline.Store(0)
		return
	}
	c.deadline.Store(t.UnixNano())
}

// A connection's life: Begin, then Serving and Waiting in turns while the body
// comes in, then Idle; or Hijack, after which it is somebody else's. A nil Conn
// is one that is not in a table, and remembers nothing.

// Begin says that a request has arrived.
func (c *Conn) Begin() {
	if c != nil {
		c.busy.Store(true)
		c.since.Store(0)
	}
}

// Serving says that the request is being worked on.
func (c *Conn) Serving() {
	if c != nil {
		c.since.Store(0)
	}
}

// Waiting says since when the client keeps us waiting.
func (c *Conn) Waiting(now time.Time) {
	if c != nil {
		c.since.Store(now.UnixNano())
		c.table.wake()
	}
}

// Idle says that the answer is complete and the next request is awaited.
func (c *Conn) Idle(now time.Time) {
	c.since.Store(now.UnixNano())
	c.busy.Store(false)
	c.table.wake()
}

// Hijack says that the connection has its own protocol from now on.
func (c *Conn) Hijack() {
	if c != nil {
		c.hijacked.Store(true)
		c.busy.Store(false)
	}
}

// Close closes the connection and makes room for another.
func (c *Conn) Close() error {
	if c.closed.Swap(true) {
		return net.ErrClosed
	}
	t := c.table
	t.mu.Lock()
	if _, in := t.all[c]; in && c.late.Load() {
		t.late--
	}
	delete(t.all, c)
	t.mu.Unlock()
	t.wake()
	return c.Conn.Close()
}

// Late reports whether the connection has one of the places that are kept, and no other
// is free by now.
func (c *Conn) Late() bool {
	if c == nil || !c.late.Load() {
		return false
	}
	t := c.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, in := t.all[c]; in && len(t.all)-t.late < t.max && c.late.CompareAndSwap(true, false) {
		t.late--
		defer t.wake() // somebody may wait for the place that it had
	}
	return c.late.Load()
}

// SyscallConn is for whoever has hijacked the connection: it can be written to
// without waiting. A connection that is not the system's own has none.
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	below, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return below.SyscallConn()
}

// Len is how many connections are open.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.all)
}

// Drops is how many waiting connections were closed to make room.
func (t *Table) Drops() int64 { return t.drops.Load() }

// wake tells a new connection that waits for room to look again.
func (t *Table) wake() {
	if t.queue.Load() == 0 {
		return
	}
	select {
	case t.room <- struct{}{}:
	default:
	}
}

// add takes a connection in, at the cost of others when the table is full. It
// waits only while every connection is being served.
func (t *Table) add(conn net.Conn, stop <-chan struct{}) (net.Conn, bool) {
	c := &Conn{Conn: conn, table: t}
	if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		c.peer = PlainAddr(tcp.AddrPort().Addr())
	}
	c.Waiting(time.Now())
	queued := false
	defer func() {
		if queued {
			t.queue.Add(-1)
			t.wake() // one signal may have stood for two
		}
	}()
	for {
		t.mu.Lock()
		if t.enter(c) {
			t.mu.Unlock()
			return c, true
		}
		victims := t.victims(true)
		t.mu.Unlock()
		t.drops.Add(int64(len(victims)))
		closeAll(victims)
		if len(victims) > 0 {
			continue
		}
		if !queued { // and look again: whoever begins to wait from now on says so
			queued = true
			t.queue.Add(1)
			continue
		}
		select {
		case <-t.room:
		case <-stop:
			return nil, false
		}
	}
}

// enter gives a connection a place if there is one without closing others, or, while
// nobody waits for their client, one of those that are kept. Call it with t.mu held.
func (t *Table) enter(c *Conn) bool {
	if len(t.all)-t.late >= t.max {
		if t.late >= t.kept || len(t.victims(false)) > 0 {
			return false
		}
		c.late.Store(true)
		t.late++
	}
	t.all[c] = struct{}{}
	return true
}

// victims are the sixteenth of the table that has waited longest. Taking many
// at once keeps the search rare. Of the places that are kept it is one, and only when
// late says so and there is nobody else: who comes there is to have time to ask.
func (t *Table) victims(late bool) []*Conn {
	type wait struct {
		c     *Conn
		since int64
	}
	var idle, kept []wait
	for c := range t.all {
		switch since := c.since.Load(); {
		case since == 0 || c.hijacked.Load():
		case c.late.Load():
			kept = append(kept, wait{c, since})
		default:
			idle = append(idle, wait{c, since})
		}
	}
	most := t.max/16 + 1
	if len(idle) == 0 && late {
		idle, most = kept, 1
	}
	slices.SortFunc(idle, func(a, b wait) int {
		switch {
		case a.since < b.since:
			return -1
		case a.since > b.since:
			return 1
		}
		return 0
	})
	idle = idle[:min(len(idle), most)]
	out := make([]*Conn, len(idle))
	for i, w := range idle {
		out[i] = w.c
	}
	return out
}

// lastWait is how long a connection may still bring a request after the
// listener has closed: one is perhaps on its way.
const lastWait = 500 * time.Millisecond

// Drain waits until no request is being served, and closes connections that
// wait for their client. Those that were hijacked have the same while to say
// goodbye in their own way.
func (t *Table) Drain(ctx context.Context) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for goodbye := time.Now().Add(lastWait); t.sweep(time.Now(), goodbye) > 0; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// sweep closes connections that have waited for too long, and reports how many
// are left to wait for.
func (t *Table) sweep(now, goodbye time.Time) (left int) {
	t.mu.Lock()
	var quiet []*Conn
	for c := range t.all {
		switch {
		case c.busy.Load():
			left++
		case c.hijacked.Load():
			if now.Before(goodbye) {
				left++
			}
		case c.since.Load() < now.Add(-lastWait).UnixNano():
			quiet = append(quiet, c)
		default:
			left++
		}
	}
	t.mu.Unlock()
	closeAll(quiet)
	return left
}

// Close closes whatever is left.
func (t *Table) Close() {
	t.mu.Lock()
	all := slices.Collect(maps.Keys(t.all))
	t.mu.Unlock()
	closeAll(all)
}

func closeAll(conns []*Conn) {
	for _, c := range conns {
		_ = c.Close() // whoever reads from it learns it
	}
}
