package socketio

import (
	"encoding/json"
	"sync"

	"github.com/castalia-org/castalia/internal/protocol/socketio/engineio"
)

// Namespace is a set of sockets with one Handler, and their rooms.
type Namespace struct {
	server  *Server
	name    string
	handler Handler

	mu      sync.RWMutex
	sockets map[string]*Socket
	rooms   map[string]map[*Socket]struct{}
}

// Prepared is an event that is encoded already, for any number of sockets of
// one namespace.
type Prepared []engineio.Frame

// Prepare encodes an event.
func (n *Namespace) Prepare(name string, args ...any) (Prepared, error) {
	p, err := n.packet(name, args)
	if err != nil {
		return nil, err
	}
	return Encode(p)
}

func (n *Namespace) packet(name string, args []any) (Packet, error) {
	if reserved(name) {
		return Packet{}, ErrReservedEvent
	}
	raw, attachments, err := encodeArgs(append([]any{name}, args...))
	return Packet{Type: EventPacket, Namespace: n.name, Args: raw, Attachments: attachments}, err
}

// PrepareRaw is Prepare with arguments that are JSON already, with placeholders
// for the attachments.
func (n *Namespace) PrepareRaw(name string, args []json.RawMessage, attachments [][]byte) (Prepared, error) {
	p, err := n.packet(name, nil)
	if err != nil {
		return nil, err
	}
	for _, a := range args {
		if !validJSON(a) {
			return nil, ErrPacket
		}
	}
	p.Args, p.Attachments = append(p.Args, args...), attachments
	return Encode(p)
}

// Broadcast sends an event to every socket in one of the rooms, once, or to all
// sockets when no room is named. It returns how many took it, and never waits
// for them.
func (n *Namespace) Broadcast(p Prepared, rooms ...string) int {
	sent := 0
	for _, s := range n.members(rooms) {
		if s.send(p) == nil {
			sent++
		}
	}
	return sent
}

func (n *Namespace) members(rooms []string) []*Socket {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if len(rooms) == 0 {
		out := make([]*Socket, 0, len(n.sockets))
		for _, s := range n.sockets {
			out = append(out, s)
		}
		return out
	}
	out := make([]*Socket, 0, len(n.rooms[rooms[0]]))
	for i, room := range rooms {
		for s := range n.rooms[room] {
			if i == 0 || !s.inAny(rooms[:i]) {
				out = append(out, s)
			}
		}
	}
	return out
}

// Members returns the sockets of a room.
func (n *Namespace) Members(room string) []*Socket { return n.members([]string{room}) }

// Socket returns the socket with that public id, or nil.
func (n *Namespace) Socket(id string) *Socket {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.sockets[id]
}

// Len is how many sockets there are.
func (n *Namespace) Len() int {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return len(n.sockets)
}

// Rooms is how many rooms have a member.
func (n *Namespace) Rooms() int {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return len(n.rooms)
}

func (n *Namespace) add(s *Socket) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sockets[s.id] = s
}

func (n *Namespace) remove(s *Socket) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.sockets, s.id)
	for _, room := range s.rooms {
		n.leaveRoom(s, room)
	}
	s.rooms, s.gone = nil, true
}

func (n *Namespace) leaveRoom(s *Socket, room string) {
	members := n.rooms[room]
	delete(members, s)
	if len(members) == 0 {
		delete(n.rooms, room)
	}
}
