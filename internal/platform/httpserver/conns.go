package httpserver

import (
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
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
	// since is when the wait began, in nanoseconds; 0 while a request is served.
	since  atomic.Int64
	closed atomic.Bool
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

func (t *connTable) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.all)
}

// add takes a connection in, at the cost of others when the table is full. It
// waits only when every connection is being served.
func (t *connTable) add(conn net.Conn, stop <-chan struct{}) (net.Conn, bool) {
	c := &trackedConn{Conn: conn, table: t}
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
		for _, v := range victims {
			t.drops.Add(1)
			_ = v.Close() // whoever reads from it learns it
		}
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
		if since := c.since.Load(); since != 0 {
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

// boundedListener is a listener whose connections are in the table.
type boundedListener struct {
	net.Listener
	table *connTable
	stop  chan struct{}
	once  sync.Once
}

// Accept returns the next connection that got a place.
func (l *boundedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
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

// Close stops accepting.
func (l *boundedListener) Close() error {
	l.once.Do(func() { close(l.stop) })
	return l.Listener.Close()
}

// connContext gives the requests of a connection their way back to it.
func connContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}
