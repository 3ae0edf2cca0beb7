package callrtc

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/ratelimit"
)

// The library takes what comes by TCP apart with 16 bits, in which a length wraps:
// one that does is read again for ever. It bounds neither connections nor how long
// they say nothing, and takes no more after one failed accept. So it is handed whole
// messages of a sane size, from so many connections, and no passing trouble.
const (
	relayStreams        = 1024
	relayStreamsPerHost = 32
	relayFrame          = 1500             // what fits a packet; the library reads no more
	relayFirst          = 10 * time.Second // until a connection says something
	relayIdle           = 15 * time.Minute // an allocation is renewed every ten
)

// relayListener takes connections for the relay.
type relayListener struct {
	net.Listener
	mu    sync.Mutex
	all   int
	hosts map[netip.Addr]int
}

func newRelayListener(l net.Listener) *relayListener {
	return &relayListener{Listener: l, hosts: map[netip.Addr]int{}}
}

// Accept returns the next connection that there is room for.
func (l *relayListener) Accept() (net.Conn, error) {
	for wait := time.Duration(0); ; {
		conn, err := l.Listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil, err
		case err != nil: // no descriptors, or a client that left: it passes
			wait = min(wait+10*time.Millisecond, time.Second)
			<-time.After(wait)
			continue
		}
		host := hostOf(conn.RemoteAddr())
		if !l.enter(host) {
			_ = conn.Close()
			continue
		}
		_ = conn.SetReadDeadline(time.Now().Add(relayFirst))
		return &relayConn{Conn: conn, leave: sync.OnceFunc(func() { l.left(host) })}, nil
	}
}

func (l *relayListener) enter(host netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= relayStreams || l.hosts[host] >= relayStreamsPerHost {
		return false
	}
	l.all++
	l.hosts[host]++
	return true
}

func (l *relayListener) left(host netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	lower(l.hosts, host)
}

// hostOf is who connects: an address, or the network that one customer has.
func hostOf(a net.Addr) netip.Addr {
	at, ok := a.(interface{ AddrPort() netip.AddrPort })
	if !ok {
		return netip.Addr{}
	}
	return ratelimit.NetworkOf(at.AddrPort().Addr())
}

// relayConn hands on whole messages, one at each reading.
type relayConn struct {
	net.Conn
	leave func()
	frame [relayFrame]byte
	rest  []byte // of the message that is being handed on
}

var errRelayFrame = errors.New("no message of TURN, or too long a one")

// Read returns a message, or a part of one that is longer than p.
func (c *relayConn) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *relayConn) next() error {
	const head = 4
	if _, err := io.ReadFull(c.Conn, c.frame[:head]); err != nil {
		return err
	}
	size, ok := relayFrameSize(c.frame[:head])
	if !ok {
		return errRelayFrame
	}
	if _, err := io.ReadFull(c.Conn, c.frame[head:size]); err != nil {
		return err
	}
	c.rest = c.frame[:size]
	return c.SetReadDeadline(time.Now().Add(relayIdle))
}

// relayFrameSize is how long the message is that begins so.
func relayFrameSize(head []byte) (size int, ok bool) {
	length := int(binary.BigEndian.Uint16(head[2:4]))
	switch head[0] >> 6 {
	case 0: // STUN
		size, ok = 20+length, length%4 == 0
	case 1: // data of a channel, padded
		size, ok = 4+(length+3)/4*4, true
	}
	return size, ok && size <= relayFrame
}

// Close ends the connection and gives its place back.
func (c *relayConn) Close() error {
	c.leave()
	return c.Conn.Close()
}
