// Package socketio is a server for Socket.IO protocol 5, which clients of
// socket.io 3 and 4 speak, on top of Engine.IO 4 (package engineio).
//
// It offers namespaces, rooms, events with acknowledgement in both directions,
// binary attachments, and refusal of a CONNECT with a reason. Delivery is
// ordered and at most once per connection; an event that goes to many is
// encoded once. Everything a peer can make the server hold is bounded, and a
// peer that breaks the protocol loses its connection. The package knows nothing
// of what the events mean, keeps no state across connections, and does not
// offer connection state recovery: whoever needs to lose nothing keeps a log
// and lets clients read it again.
//
// Decision: ADR 0016.
package socketio

import (
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/socketio/engineio"
)

// Reason says why a socket was disconnected, in the words of Socket.IO.
type Reason = engineio.Reason

// The reasons that Socket.IO adds to those of Engine.IO.
const (
	ClientDisconnect Reason = "client namespace disconnect"
	ServerDisconnect Reason = "server namespace disconnect"
)

// Bounds of what comes before a namespace is joined, beyond the CONNECT itself: the
// types of packet and message, the namespace and what is between them.
const connectMargin = 1 << 10

// maxAttachmentBytes bounds the attachments of one event.
const maxAttachmentBytes = 4 << 20

// Config says how a server behaves. Zero values mean the defaults.
type Config struct {
	Engine engineio.Config
	// ConnectTimeout is how long a connection may go without joining a namespace,
	// and how long a Handler may take to decide: 45 s.
	ConnectTimeout time.Duration
	// MaxConnect bounds the bytes of a CONNECT, and of each message or polling body
	// before the first namespace is joined: 64 KiB.
	MaxConnect int
	// AttachTimeout is how long the next attachment of a packet may take: 60 s.
	AttachTimeout time.Duration
	// MaxNamespaces bounds what one connection may join: 16.
	MaxNamespaces int
	// MaxPendingAcks bounds the acknowledgements that one socket owes: 256.
	MaxPendingAcks int
	Logger         *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.ConnectTimeout <= 0 {
		c.ConnectTimeout = 45 * time.Second
	}
	if c.MaxConnect <= 0 {
		c.MaxConnect = 64 << 10
	}
	if c.AttachTimeout <= 0 {
		c.AttachTimeout = 60 * time.Second
	}
	if c.Engine.MaxUnprovenPayload == 0 {
		c.Engine.MaxUnprovenPayload = int64(c.MaxConnect) + connectMargin
	}
	if c.MaxNamespaces <= 0 {
		c.MaxNamespaces = 16
	}
	if c.MaxPendingAcks <= 0 {
		c.MaxPendingAcks = 256
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Engine.Logger == nil {
		c.Engine.Logger = c.Logger
	}
	return c
}

// Handler is the application behind a namespace. For one socket its methods are
// called one after the other, in the order of the packets; Disconnect may come
// while Event runs.
type Handler interface {
	// Connect decides whether a socket may join. auth is the peer's JSON object.
	// An error refuses it: a *RefusalError says how, any other error says nothing to
	// the peer. Nothing can be sent to the socket yet.
	Connect(s *Socket, auth json.RawMessage) error
	// Connected is called when the peer has been told that it is accepted.
	Connected(s *Socket)
	// Event is called for each event. It must not wait for an acknowledgement of
	// the same socket.
	Event(s *Socket, e *Event)
	// Disconnect is called once for each socket for which Connected was called.
	Disconnect(s *Socket, reason Reason)
}

// RefusalError is an error with which a Handler refuses a CONNECT.
type RefusalError struct {
	// Message is what the peer's connect_error shows.
	Message string
	// Data is added to it when it is not nil.
	Data any
	// Close ends the whole connection after the refusal was sent.
	Close bool
}

// Error implements error.
func (r *RefusalError) Error() string { return "socketio: refused: " + r.Message }

// The errors of sending.
var (
	// ErrDisconnected says that the socket is not, or no longer, connected.
	ErrDisconnected = errors.New("socketio: socket is not connected")
	// ErrReservedEvent says that an event has a name that only the library uses.
	ErrReservedEvent = errors.New("socketio: reserved event name")
	// ErrAttachments says that an event has more attachments than clients accept.
	ErrAttachments = errors.New("socketio: more than 10 attachments")
	// ErrAckLimit says that the peer owes too many acknowledgements.
	ErrAckLimit = errors.New("socketio: too many unanswered acknowledgements")
	// ErrAcked says that an event was acknowledged before, or wants no acknowledgement.
	ErrAcked = errors.New("socketio: nothing to acknowledge")
)
