// Package engineio is a server for Engine.IO protocol 4: message sessions over
// HTTP long polling and WebSocket, with the upgrade from one to the other.
//
// It promises ordered delivery, at most once, for as long as a session lives,
// also across the upgrade; heartbeats from the server; and bounds on everything
// a peer can make it hold: payloads, queues, sessions, and the time that a slow
// peer may take. A session costs no goroutine over polling while no request is
// held, and one over WebSocket. It knows nothing of Socket.IO, refuses protocol
// 3, JSONP and compression, and leaves CORS to whoever mounts it.
//
// Its wire is HTTP, so that this package, unlike its neighbours, speaks net/http.
package engineio

import (
	"errors"
	"log/slog"
	"net/http"
	"time"
)

// Reason says why a session ended, in the words that Socket.IO users know.
type Reason string

// The reasons.
const (
	TransportClose Reason = "transport close"
	TransportError Reason = "transport error"
	PingTimeout    Reason = "ping timeout"
	ParseError     Reason = "parse error"
	ForcedClose    Reason = "forced close"
	ServerShutdown Reason = "server shutting down"
)

// The errors of Session.Send.
var (
	// ErrClosed says that the session has ended.
	ErrClosed = errors.New("engineio: session is closed")
	// ErrOverflow says that the peer reads too slowly: its queue is full, and the
	// session was closed.
	ErrOverflow = errors.New("engineio: the peer reads too slowly")
	// ErrNotWritable says that a volatile message was dropped.
	ErrNotWritable = errors.New("engineio: the transport is not writable right now")
)

// Message is one message from the peer. Data belongs to the receiver.
type Message struct {
	Data   []byte
	Binary bool
}

// Receiver is the upper layer of one session.
type Receiver interface {
	// Message is called for each message, one at a time and in order. The frames
	// it returns are sent as one batch, cheaper than through Session.Send. It must
	// not wait for another message of the same session.
	Message(m Message) []Frame
	// Closed is called once, and possibly while Message runs.
	Closed(reason Reason)
}

// Config says how a server behaves. Zero values mean the defaults.
type Config struct {
	// PingInterval and PingTimeout are the heartbeat: 25 s and 20 s.
	PingInterval, PingTimeout time.Duration
	// UpgradeTimeout is how long a probing WebSocket may take: 10 s.
	UpgradeTimeout time.Duration
	// UpgradePoll is how long a poll that comes while a session is being upgraded
	// waits to see the upgrade, which refuses it, before it ends empty: 100 ms.
	UpgradePoll time.Duration
	// IOTimeout bounds one write, and the reading of one polling body: 20 s.
	IOTimeout time.Duration
	// MaxPayload bounds one WebSocket message or polling body: 1,000,000 bytes.
	MaxPayload int64
	// MaxUnprovenPayload is the same while nobody called Session.Prove: MaxPayload.
	MaxUnprovenPayload int64
	// MaxQueueBytes bounds what waits for a slow peer: 4 MiB.
	MaxQueueBytes int
	// MaxSessions bounds the sessions of this server: 100,000.
	MaxSessions int
	// Origin names who opens a session, such as a client's address; MaxUnproven
	// bounds the sessions of one origin that nobody called Session.Prove on yet:
	// one more ends the oldest of them. Without both there is no such bound.
	Origin      func(*http.Request) string
	MaxUnproven int
	// Jitter spreads the first pings of a herd: the part of PingInterval by which
	// the first ping may come earlier, 0 to 1. The default is 0.
	Jitter float64
	// SessionID mints session ids. They are bearer secrets. The default is 20
	// random characters.
	SessionID func() string
	// Info is asked at each handshake; Session.Info returns its answer.
	Info func(*http.Request) any
	// Allow may refuse a handshake with an error whose text the peer gets.
	Allow func(*http.Request) error
	// Foreign may serve a request whose session is not here, because another node
	// has it. Nil, or a nil answer, means that the session is unknown.
	Foreign func(r *http.Request, sid string) http.Handler
	// CheckOrigin may refuse a WebSocket by its Origin header. The default takes
	// all, because sessions are authenticated by what they carry, not by cookies.
	CheckOrigin func(*http.Request) bool
	// Logger hears of what should not happen.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	set(&c.PingInterval, 25*time.Second)
	set(&c.PingTimeout, 20*time.Second)
	set(&c.UpgradeTimeout, 10*time.Second)
	set(&c.UpgradePoll, 100*time.Millisecond)
	set(&c.IOTimeout, 20*time.Second)
	set(&c.MaxPayload, 1_000_000)
	set(&c.MaxUnprovenPayload, c.MaxPayload)
	c.MaxUnprovenPayload = min(c.MaxUnprovenPayload, c.MaxPayload)
	set(&c.MaxQueueBytes, 4<<20)
	set(&c.MaxSessions, 100_000)
	if c.SessionID == nil {
		c.SessionID = NewID
	}
	if c.Info == nil {
		c.Info = func(*http.Request) any { return nil }
	}
	if c.CheckOrigin == nil {
		c.CheckOrigin = func(*http.Request) bool { return true }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
