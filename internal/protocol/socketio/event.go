package socketio

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/castalia-org/castalia/internal/protocol/socketio/engineio"
	"github.com/castalia-org/castalia/plugin/strictjson"
)

// Event is one event from a peer.
type Event struct {
	Name string
	// Args are the arguments as JSON, with placeholders for attachments.
	Args        []json.RawMessage
	Attachments [][]byte

	socket *Socket
	id     uint64
	hasID  bool

	mu      sync.Mutex
	acked   bool
	inline  bool // the handler runs: its acknowledgement may ride home with it
	replies []engineio.Frame
}

// WantsAck reports whether the peer waits for an acknowledgement.
func (e *Event) WantsAck() bool { return e.hasID }

// Decode reads argument i into v. A missing argument leaves v as it is.
func (e *Event) Decode(i int, v any) error {
	if i >= len(e.Args) {
		return nil
	}
	if err := strictjson.Unmarshal(e.Args[i], v); err != nil {
		return fmt.Errorf("decode argument %d of %q: %w", i, e.Name, err)
	}
	return nil
}

// Values returns the arguments as plain values with their attachments, of type
// Binary, in place.
func (e *Event) Values() ([]any, error) {
	out := make([]any, len(e.Args))
	for i := range e.Args {
		if err := e.Decode(i, &out[i]); err != nil {
			return nil, err
		}
		var err error
		if out[i], err = attachBack(out[i], e.Attachments); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Ack acknowledges the event, at once or later, once. An event that wants no
// acknowledgement gets none, and ErrAcked.
func (e *Event) Ack(args ...any) error {
	raw, attachments, err := encodeArgs(args)
	if err != nil {
		return err
	}
	return e.AckRaw(raw, attachments)
}

// AckRaw is Ack with arguments that are JSON already.
func (e *Event) AckRaw(args []json.RawMessage, attachments [][]byte) error {
	frames, err := Encode(Packet{
		Type: Ack, Namespace: e.socket.namespace.name, ID: e.id, HasID: true, Args: args, Attachments: attachments,
	})
	if err != nil {
		return err
	}
	e.mu.Lock()
	if e.acked || !e.hasID {
		e.mu.Unlock()
		return ErrAcked
	}
	e.acked = true
	if e.inline {
		e.replies = frames
		e.mu.Unlock()
		return nil
	}
	e.mu.Unlock()
	return e.socket.send(frames)
}

// run calls the handler and returns what can be sent with the next write of
// the read loop.
func (e *Event) run() []engineio.Frame {
	e.inline = true
	e.socket.namespace.handler.Event(e.socket, e)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.inline = false
	return e.replies
}
