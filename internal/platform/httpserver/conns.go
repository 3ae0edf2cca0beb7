package httpserver

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// connTable bounds the open connections. When it is full, a new connection
// takes the place of those that have waited longest for their client: to send
// a request, to send the rest of one, or to send the next. A request that is
// being worked on is never given up. So ten thousand clients that connect and
// say nothing push out one another, not those who speak.
type connTable struct {
	max   int
	mu    sync.Mutex
	all   map[*trackedConn]struct{}
	room  chan struct{} // signalled when a connection closes
	drops atomic.Int64
}

func newConnTable(most int) *connTable {
	return &connTable{max: most, all: map[*trackedConn]struct{}{}, room: make(chan struct{}, 1)}
}

type connKey struct{}

// trackedConn knows since when its client keeps us waiting.
type trackedConn struct {
	net.Conn
	table *connTable
	peer  netip.Addr // parsed once for all requests; not valid when it is no IP address
	// since is when the wait began, in nanoseconds; 0 while a request is served.
	since atomic.Int64
	// busy is set from a request's headers to the end of its answer.
	busy     atomic.Bool
	hijacked atomic.Bool
	closed   atomic.Bool
	// deadline is the write deadline, in nanoseconds; 0 when there is none.
	deadline atomic.Int64
}

// SetWriteDeadline moves the write deadline, and remembers it.
func (c *trackedConn) SetWriteDeadline(t time.Time) error {
	c.remember(t)
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline moves both deadlines.
func (c *trackedConn) SetDeadline(t time.Time) error {
	c.remember(t)
	return c.Conn.SetDeadline(t)
}

func (c *trackedConn) remember(t time.Time) {
	if t.IsZero() {
		c.deadline.Store(0)
		return
	}
	c.deadline.Store(t.UnixNano())
}

// A connection's life: begin, then serving and waiting in turns while the body
// comes in, then idle; or hijack, after which it is somebody else's.

func (c *trackedConn) begin() {
	if c != nil {
		c.busy.Store(true)
		c.since.Store(0)
	}
}

func (c *trackedConn) serving() {
	if c != nil {
		c.since.Store(0)
	}
}

func (c *trackedConn) waiting(now time.Time) {
	if c != nil {
		c.since.Store(now.UnixNano())
	}
}

func (c *trackedConn) idle(now time.Time) {
	c.since.Store(now.UnixNano())
	c.busy.Store(false)
}

func (c *trackedConn) hijack() {
	if c != nil {
		c.hijacked.Store(true)
		c.busy.Store(false)
	}
}

// Close closes the connection and makes room for another.
func (c *trackedConn) Close() error {
	if c.closed.Swap(true) {
		return net.ErrClosed
	}
	t := c.table
	t.mu.Lock()
	delete(t.all, c)
	t.mu.Unlock()
	select {
	case t.room <- struct{}{}:
	default:
	}
	return c.Conn.Close()
}

// SyscallConn is for whoever has hijacked the connection: it can be written to
// without waiting. A connection that is not the system's own has none.
func (c *trackedConn) SyscallConn() (syscall.RawConn, error) {
	below, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return below.SyscallConn()
}

func (t *connTable) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.all)
}

// add takes a connection in, at the cost of others when the table is full. It
// waits only when every connection is being served.
func (t *connTable) add(conn net.Conn, stop <-chan struct{}) (net.Conn, bool) {
	c := &trackedConn{Conn: conn, table: t}
	if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		c.peer = plainAddr(tcp.AddrPort().Addr())
	}
	c.waiting(time.Now())
	for {
		t.mu.Lock()
		if len(t.all) < t.max {
			t.all[c] = struct{}{}
			t.mu.Unlock()
			return c, true
		}
		victims := t.victims()
		t.mu.Unlock()
		t.drops.Add(int64(len(victims)))
		closeAll(victims)
		if len(victims) > 0 {
			continue
		}
		select {
		case <-t.room:
		case <-stop:
			return nil, false
		}
	}
}

// victims are the sixteenth of the table that has waited longest. Taking many
// at once keeps the search rare.
func (t *connTable) victims() []*trackedConn {
	type wait struct {
		c     *trackedConn
		since int64
	}
	var idle []wait
	for c := range t.all {
		if since := c.since.Load(); since != 0 && !c.hijacked.Load() {
			idle = append(idle, wait{c, since})
		}
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
	idle = idle[:min(len(idle), t.max/16+1)]
	out := make([]*trackedConn, len(idle))
	for i, w := range idle {
		out[i] = w.c
	}
	return out
}

// lastWait is how long a connection may still bring a request after the
// listener has closed: one is perhaps on its way.
const lastWait = 500 * time.Millisecond

// drain waits until no request is being served, and closes connections that
// wait for their client. Those that were hijacked have the same while to say
// goodbye in their own way.
func (t *connTable) drain(ctx context.Context) error {
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
func (t *connTable) sweep(now, goodbye time.Time) (left int) {
	t.mu.Lock()
	var quiet []*trackedConn
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

// close closes whatever is left.
func (t *connTable) close() {
	t.mu.Lock()
	all := slices.Collect(maps.Keys(t.all))
	t.mu.Unlock()
	closeAll(all)
}

func closeAll(conns []*trackedConn) {
	for _, c := range conns {
		_ = c.Close() // whoever reads from it learns it
	}
}

// boundedListener is a listener whose connections are in the table.
type boundedListener struct {
	*net.TCPListener
	table *connTable
	stop  chan struct{}
	once  sync.Once
	last  atomic.Int64 // when the last calls were announced; 0 before
}

func newBoundedListener(l *net.TCPListener, t *connTable) *boundedListener {
	return &boundedListener{TCPListener: l, table: t, stop: make(chan struct{})}
}

// Accept returns the next connection that got a place.
func (l *boundedListener) Accept() (net.Conn, error) {
	conn, err := l.TCPListener.Accept()
	if errors.Is(err, os.ErrDeadlineExceeded) && l.last.Load() != 0 {
		conn, err = l.lastCall()
	}
	if err != nil {
		return nil, err
	}
	c, ok := l.table.add(conn, l.stop)
	if !ok {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	return c, nil
}

// lastCalls lets no new connection begin, makes Accept take those that the
// system has already completed for their clients, and then close: closing at
// once would break those whose request is on its way.
func (l *boundedListener) lastCalls() {
	ignoreNew(l.TCPListener)
	l.last.Store(time.Now().UnixNano())
	_ = l.SetDeadline(time.Now())
}

// lastCall returns a connection that was there already, or closes the listener
// when none came for a while, or when they do not cease to come.
func (l *boundedListener) lastCall() (net.Conn, error) {
	const quiet, longest = 50 * time.Millisecond, time.Second
	// A deadline that has passed before Accept looks is an error even when a
	// connection waits, so one silence may be our own lateness; two are not.
	for range 2 {
		if time.Now().UnixNano()-l.last.Load() > int64(longest) {
			break
		}
		_ = l.SetDeadline(time.Now().Add(quiet))
		if conn, err := l.TCPListener.Accept(); err == nil {
			_ = l.SetDeadline(time.Now())
			return conn, nil
		}
	}
	_ = l.Close()
	return nil, net.ErrClosed
}

// Close stops accepting.
func (l *boundedListener) Close() error {
	err := net.ErrClosed
	l.once.Do(func() {
		close(l.stop)
		err = l.TCPListener.Close()
	})
	return err
}

// connContext gives the requests of a connection their way back to it.
func connContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}
