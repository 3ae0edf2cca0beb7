// Package listener takes connections in and lets go of them: at most so many at a
// time, those that keep us waiting before those that are served, and on the way
// out none that has a request on its way.
//
// It knows connections and not what is said on them; package httpserver tells it
// when a request begins and ends.
//
// Decision: ADR 0021.
package listener

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Listener is a listener whose connections are in the table.
type Listener struct {
	*net.TCPListener
	table *Table
	stop  chan struct{}
	once  sync.Once
	last  atomic.Int64 // when the last calls were announced; 0 before
}

// Listen opens a port, in a way that lets LastCalls close it without breaking
// anybody's request.
func Listen(ctx context.Context, addr string, t *Table) (*Listener, error) {
	var lc net.ListenConfig
	lc.SetMultipathTCP(false) // its sockets take no filter, which LastCalls needs
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return nil, fmt.Errorf("listen on %s: not TCP", addr)
	}
	return &Listener{TCPListener: tcp, table: t, stop: make(chan struct{})}, nil
}

// Accept returns the next connection that got a place.
func (l *Listener) Accept() (net.Conn, error) {
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

// LastCalls lets no new connection begin, makes Accept take those that the
// system has already completed for their clients, and then close: closing at
// once would break those whose request is on its way.
func (l *Listener) LastCalls() {
	ignoreNew(l.TCPListener)
	l.last.Store(time.Now().UnixNano())
	_ = l.SetDeadline(time.Now())
}

// lastCall returns a connection that was there already, or closes the listener
// when none came for a while, or when they do not cease to come.
func (l *Listener) lastCall() (net.Conn, error) {
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
func (l *Listener) Close() error {
	err := net.ErrClosed
	l.once.Do(func() {
		close(l.stop)
		err = l.TCPListener.Close()
	})
	return err
}

type connKey struct{}

// ConnContext gives the requests of a connection their way back to it: it is for
// http.Server.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	under := beneath(c)
	if conn, ok := under.(*Conn); ok {
		conn.covered = under != c
	}
	return context.WithValue(ctx, connKey{}, under)
}

// beneath is the connection that TLS runs over, or c itself.
func beneath(c net.Conn) net.Conn {
	if over, ok := c.(interface{ NetConn() net.Conn }); ok {
		return over.NetConn()
	}
	return c
}

// FromContext is the connection that a request came by, or nil.
func FromContext(ctx context.Context) *Conn {
	c, _ := ctx.Value(connKey{}).(*Conn)
	return c
}

// ConnState notes when a connection begins to wait for its next request: it is for
// http.Server. That a request has begun is not enough to count as served: the
// handler says that.
func ConnState(c net.Conn, state http.ConnState) {
	if t, ok := beneath(c).(*Conn); ok && state == http.StateIdle {
		t.Idle(time.Now())
	}
}

// PlainAddr is an address as it is compared: not wrapped in IPv6, without a zone.
func PlainAddr(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }
