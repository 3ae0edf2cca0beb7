package socketio

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/castalia-org/castalia/internal/protocol/socketio/engineio"
)

// Socket is one connection's membership in a namespace. Its methods are safe
// for concurrent use.
type Socket struct {
	// Data belongs to the Handler. It must be set in Connect, and not changed
	// after.
	Data any

	client    *client
	namespace *Namespace
	id        string
	ready     atomic.Bool
	ctx       context.Context //nolint:containedctx // only while Connect runs

	rooms []string // guarded by namespace.mu
	gone  bool     // guarded by namespace.mu

	mu      sync.Mutex
	phase   phase
	parting Reason // why the socket ended while Connected ran
	nextAck uint64
	acks    map[uint64]chan<- Reply
}

// phase orders Connected before Disconnect, whenever the connection ends.
type phase uint8

const (
	fresh    phase = iota // not accepted yet
	greeting              // Connected runs
	leaving               // Connected runs, and the socket has ended
	up
	down
)

// Reply is a peer's acknowledgement.
type Reply struct {
	Args        []json.RawMessage
	Attachments [][]byte
}

// ID is the public id of the socket.
func (s *Socket) ID() string { return s.id }

// Session is the connection underneath.
func (s *Socket) Session() *engineio.Session { return s.client.session }

// Namespace is where the socket belongs.
func (s *Socket) Namespace() *Namespace { return s.namespace }

// Context ends when the peer goes away or the time to decide is over. It is
// only to be used in Handler.Connect.
func (s *Socket) Context() context.Context {
	if s.ctx == nil {
		return context.Background()
	}
	return s.ctx
}

// Emit sends an event.
func (s *Socket) Emit(name string, args ...any) error {
	p, err := s.namespace.Prepare(name, args...)
	if err != nil {
		return err
	}
	return s.send(p)
}

// EmitVolatile sends an event if the peer can take it at once, and drops it
// otherwise.
func (s *Socket) EmitVolatile(name string, args ...any) error {
	p, err := s.namespace.Prepare(name, args...)
	if err != nil {
		return err
	}
	if !s.ready.Load() {
		return ErrDisconnected
	}
	return s.client.session.SendVolatile(p...)
}

// Send sends an event that was prepared in the same namespace.
func (s *Socket) Send(p Prepared) error { return s.send(p) }

func (s *Socket) send(frames []engineio.Frame) error {
	if !s.ready.Load() {
		return ErrDisconnected
	}
	return s.client.session.Send(frames...)
}

// EmitAck sends an event and waits for the peer's acknowledgement, for the end
// of ctx, or for the end of the socket.
func (s *Socket) EmitAck(ctx context.Context, name string, args ...any) (Reply, error) {
	p, err := s.namespace.packet(name, args)
	if err != nil {
		return Reply{}, err
	}
	got := make(chan Reply, 1)
	p.HasID = true
	if p.ID, err = s.expectAck(got); err != nil {
		return Reply{}, err
	}
	defer s.forgetAck(p.ID)
	frames, err := Encode(p)
	if err != nil {
		return Reply{}, err
	}
	if err := s.send(frames); err != nil {
		return Reply{}, err
	}
	select {
	case r, ok := <-got:
		if !ok {
			return Reply{}, ErrDisconnected
		}
		return r, nil
	case <-ctx.Done():
		return Reply{}, ctx.Err()
	}
}

func (s *Socket) expectAck(got chan<- Reply) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.acks) >= s.client.server.cfg.MaxPendingAcks {
		return 0, ErrAckLimit
	}
	if s.acks == nil {
		s.acks = make(map[uint64]chan<- Reply)
	}
	id := s.nextAck
	s.nextAck++
	s.acks[id] = got
	return id, nil
}

func (s *Socket) forgetAck(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.acks, id)
	if len(s.acks) == 0 {
		s.acks = nil
	}
}

// acknowledged settles a waiting EmitAck. An id that nobody waits for is none
// of our business: the waiter may have given up.
func (s *Socket) acknowledged(p Packet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if got, ok := s.acks[p.ID]; ok {
		delete(s.acks, p.ID)
		got <- Reply{Args: p.Args, Attachments: p.Attachments} // buffered
	}
}

// Join puts the socket into a room. It does nothing to a socket that is gone.
func (s *Socket) Join(room string) {
	n := s.namespace
	n.mu.Lock()
	defer n.mu.Unlock()
	if s.gone || slices.Contains(s.rooms, room) {
		return
	}
	if n.rooms[room] == nil {
		n.rooms[room] = make(map[*Socket]struct{}, 1)
	}
	n.rooms[room][s] = struct{}{}
	s.rooms = append(s.rooms, room)
}

// Leave takes the socket out of a room.
func (s *Socket) Leave(room string) {
	n := s.namespace
	n.mu.Lock()
	defer n.mu.Unlock()
	if i := slices.Index(s.rooms, room); i >= 0 {
		s.rooms = slices.Delete(s.rooms, i, i+1)
		n.leaveRoom(s, room)
	}
}

// inAny reports membership. The caller holds namespace.mu.
func (s *Socket) inAny(rooms []string) bool {
	return slices.ContainsFunc(s.rooms, func(r string) bool { return slices.Contains(rooms, r) })
}

// Disconnect ends the socket's membership; its client does not come back by
// itself. With whole the connection is closed too.
func (s *Socket) Disconnect(whole bool) {
	if s.ready.Load() {
		frames, err := Encode(Packet{Type: Disconnect, Namespace: s.namespace.name})
		if err == nil {
			_ = s.send(frames) // the session's end is told by Closed
		}
		s.leave(ServerDisconnect)
	}
	if whole {
		s.client.session.Close()
	}
}

// Drop closes the connection without saying why; its client comes back by
// itself.
func (s *Socket) Drop() { s.client.session.Close() }

// leave ends the membership while the connection goes on.
func (s *Socket) leave(reason Reason) {
	if s.client.drop(s) {
		s.closed(reason)
	}
}

// greet tells the handler that the socket is accepted, unless it has ended.
func (s *Socket) greet() {
	s.mu.Lock()
	if s.phase != fresh {
		s.mu.Unlock()
		return
	}
	s.phase = greeting
	s.ready.Store(true)
	s.mu.Unlock()
	s.namespace.handler.Connected(s)
	s.mu.Lock()
	left := s.phase == leaving
	s.phase = up
	if left {
		s.phase = down
	}
	s.mu.Unlock()
	if left {
		s.namespace.handler.Disconnect(s, s.parting)
	}
}

// closed runs once, when the socket has left its client.
func (s *Socket) closed(reason Reason) {
	s.namespace.remove(s)
	s.mu.Lock()
	s.ready.Store(false)
	for id, got := range s.acks {
		close(got)
		delete(s.acks, id)
	}
	before := s.phase
	s.phase = down
	if before == greeting {
		s.phase, s.parting = leaving, reason
	}
	s.mu.Unlock()
	if before == up {
		s.namespace.handler.Disconnect(s, reason)
	}
}
