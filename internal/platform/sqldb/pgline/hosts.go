// Package pgline knows the lines to PostgreSQL: which server of an address serves,
// how long one that says nothing is waited for, how many connections it gives, and in
// which lanes writers that collided take turns.
//
// Decision: ADR 0226.
package pgline

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Hosts are the servers that an address names, of which one can be written to.
// Every connection, of readers too, goes to that one: who reads elsewhere does
// not see what was just written.
//
// The server that served last is asked first, so that one that stands still
// costs its timeout once and not with every connection. What was opened before a
// server turned out to be frozen or fenced is left.
type Hosts struct {
	dialOne pgconn.DialFunc
	Epoch   atomic.Int64 // connections of an older one are left

	mu   sync.Mutex
	good string // address of the server that served last; empty: not known
}

var (
	// ErrPooled says that sessions are handed around.
	ErrPooled = errors.New("a pooler in transaction mode stands before PostgreSQL, which loses locks and settings of sessions: set its pool_mode to session, or connect past it")

	errOtherHost  = errors.New("another server of the address serves")
	errStandby    = errors.New("the server is a standby, or fenced: nothing can be written there")
	sslRequest    = []byte{0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f}
	writableWords = []string{"", "any", "read-write", "primary"}
)

// WantsWritable refuses addresses that ask for a server which cannot be written to.
func WantsWritable(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return nil //nolint:nilerr // the driver explains it better, and hides the password
	}
	if word := u.Query().Get("target_session_attrs"); !slices.Contains(writableWords, word) {
		return fmt.Errorf("open database: target_session_attrs=%s: Castalia needs the server that can be written to: use read-write or primary", word)
	}
	return nil
}

// NewHosts knows nothing of them yet; dial opens lines, nil is TCP.
func NewHosts(dial pgconn.DialFunc) *Hosts {
	if dial == nil {
		dial = dialTCP
	}
	return &Hosts{dialOne: dial}
}

// Dial implements pgconn.DialFunc.
func (h *Hosts) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	h.mu.Lock()
	elsewhere := h.good != "" && h.good != address
	h.mu.Unlock()
	if elsewhere {
		return nil, errOtherHost
	}
	conn, err := h.dialOne(ctx, network, address)
	if err != nil {
		h.forget(address)
		return nil, err
	}
	return &Conn{Conn: conn, hosts: h, network: network, address: address}, nil
}

// forget makes the next connection ask all servers again.
func (h *Hosts) forget(address string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.good == address {
		h.good = ""
	}
}

// Leave gives up all connections of now: their server is frozen or fenced.
func (h *Hosts) Leave(since int64) {
	if h.Epoch.CompareAndSwap(since, since+1) {
		h.mu.Lock()
		h.good = ""
		h.mu.Unlock()
	}
}

// sessionQuery asks whether nothing can be written here, and whether the session of
// this new connection is an old one: a pooler in transaction mode hands sessions
// around with what others set in them.
const sessionQuery = "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on', coalesce(current_setting('castalia.session', true), '') <> ''; " +
	"SET castalia.session = 'open'; "

// Validate implements pgconn's ValidateConnect: whether the server is one that can
// be written to, by one trip that also sets up the session.
func (h *Hosts) Validate(session string) pgconn.ValidateConnectFunc {
	return func(ctx context.Context, conn *pgconn.PgConn) error {
		results, err := conn.Exec(ctx, sessionQuery+session).ReadAll()
		if err != nil {
			return err
		}
		var row [][]byte
		if len(results) > 0 && len(results[0].Rows) > 0 {
			row = results[0].Rows[0]
		}
		switch {
		case len(row) > 1 && string(row[1]) == "t":
			return ErrPooled
		case len(row) > 0 && string(row[0]) == "t":
			return errStandby
		}
		if host := HostOf(conn.Conn()); host != nil {
			host.serves.Store(true)
			h.mu.Lock()
			h.good = host.address
			h.mu.Unlock()
		}
		return nil
	}
}

// Conn is a line that knows where it leads.
type Conn struct {
	net.Conn

	hosts            *Hosts
	network, address string
	serves           atomic.Bool
}

// HostOf finds the line below TLS.
func HostOf(conn net.Conn) *Conn {
	if secured, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secured.NetConn()
	}
	host, _ := conn.(*Conn)
	return host
}

// Close implements net.Conn. A server that did not serve is not asked first again.
func (c *Conn) Close() error {
	if !c.serves.Load() {
		c.hosts.forget(c.address)
	}
	return c.Conn.Close()
}

// Lives asks the server, over another line, whether it speaks TLS: each one that
// runs says yes or no at once, before anybody has to prove who they are.
func (c *Conn) Lives() bool {
	ctx, cancel := context.WithTimeout(context.Background(), probeLimit)
	defer cancel()
	line, err := c.hosts.dialOne(ctx, c.network, c.address)
	if err != nil {
		return false
	}
	defer func() { _ = line.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		_ = line.SetDeadline(deadline)
	}
	if _, err := line.Write(sslRequest); err != nil {
		return false
	}
	var answer [1]byte
	_, err = line.Read(answer[:])
	timeout, ok := errors.AsType[net.Error](err)
	return !ok || !timeout.Timeout()
}

// dialTCP is how lines are opened unless a test says otherwise.
func dialTCP(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext(ctx, network, address)
}
