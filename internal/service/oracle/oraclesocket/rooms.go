package oraclesocket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/protocol/socketio"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

// Subjects on the bus. A room's subject is subscribed to only by nodes that
// have a socket in it.
func roomOf(session string) string { return "oracle.socket.room." + bus.Token(session) }
func inboxOf(tag string) string    { return "oracle.socket.node." + tag }
func deskOf(tag string) string     { return "oracle.socket.desk." + tag }
func whereOf(tag string) string    { return "oracle.socket.where." + tag }

// room is a session with at least one socket on this node.
type room struct {
	members int
	sub     bus.Subscription
	dropped uint64 // by sub, as far as its pages were told
}

// letter is what nodes send to rooms.
type letter struct {
	From string `json:"from"`
	// Event and Data are an event for the sockets of the room.
	Event oracle.EventName `json:"event,omitempty"`
	Data  json.RawMessage  `json:"data,omitempty"`
	// Ask is the number of a question: who has a page of this user?
	Ask   string `json:"ask,omitempty"`
	Owner string `json:"owner,omitempty"`
	Tab   string `json:"tab,omitempty"`
	// Ended says that the session was deleted.
	Ended bool `json:"ended,omitempty"`
}

var errNotForRooms = errors.New("calls go to one socket, not to a room")

// Publish implements oracle.Publisher: to the sockets of this node at once, and
// to the others by the bus. Without the bus only this node's sockets hear it,
// and the others are told to read again when it is back.
func (g *Gateway) Publish(ctx context.Context, e oracle.Event) error {
	if e.Name == oracle.EventBrowserToolCall || e.Name == oracle.EventActionCall {
		return errNotForRooms
	}
	data, err := e.Wire()
	if err != nil {
		return err
	}
	if err := g.broadcast(e.SessionID, e.Name, data); err != nil {
		return err
	}
	if g.cfg.Alone {
		return nil
	}
	err = g.post(ctx, roomOf(e.SessionID), letter{From: g.tag, Event: e.Name, Data: data})
	g.missed(err)
	return err
}

// broadcast sends to the room's sockets on this node.
func (g *Gateway) broadcast(session string, name oracle.EventName, data json.RawMessage) error {
	p, err := g.all.Prepare(string(name), data)
	if err != nil {
		return fmt.Errorf("encode %s event: %w", name, err)
	}
	g.all.Broadcast(p, session)
	return nil
}

func (g *Gateway) post(ctx context.Context, subject string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode letter: %w", err)
	}
	return g.deps.Bus.Publish(ctx, subject, raw)
}

// enter puts a socket into its room; the first one opens the room to the bus.
func (g *Gateway) enter(s *socketio.Socket, p *page) {
	s.Join(p.session)
	g.mu.Lock()
	defer g.mu.Unlock()
	u := g.users[p.did]
	if u == nil {
		u = &user{sessions: make(map[string]int, 1)}
		g.users[p.did] = u
	}
	u.sockets++
	u.sessions[p.session]++
	r := g.rooms[p.session]
	if r == nil {
		r = &room{}
		g.rooms[p.session] = r
	}
	r.members++
	if r.sub != nil || g.cfg.Alone {
		return
	}
	sub, err := g.deps.Bus.Subscribe(roomOf(p.session), func(m bus.Message) { g.overheard(p.session, m) })
	if err != nil {
		// Hints may be lost: this node's sockets then hear what this node says.
		g.deps.Logger.Warn("a room could not be opened to the bus", slog.String("event", "socket.room_open_failed"), slog.Any("error", err))
		return
	}
	r.sub = sub
}

// leave undoes enter; socketio itself has taken the socket out of its room.
func (g *Gateway) leave(p *page) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if u := g.users[p.did]; u != nil {
		u.sockets--
		if u.sessions[p.session]--; u.sessions[p.session] <= 0 {
			delete(u.sessions, p.session)
		}
		if u.sockets <= 0 {
			delete(g.users, p.did)
		}
	}
	r := g.rooms[p.session]
	if r == nil {
		return
	}
	if r.members--; r.members > 0 {
		return
	}
	delete(g.rooms, p.session)
	if r.sub != nil {
		if err := r.sub.Unsubscribe(); err != nil {
			g.deps.Logger.Warn("a room could not be closed to the bus", slog.String("event", "socket.room_close_failed"), slog.Any("error", err))
		}
	}
}

// overheard takes a letter to a room that has sockets here.
func (g *Gateway) overheard(session string, m bus.Message) {
	var l letter
	if err := json.Unmarshal(m.Data, &l); err != nil {
		g.deps.Logger.Warn("a message on the bus could not be read", slog.String("event", "socket.letter_unreadable"), slog.Any("error", err))
		return
	}
	if g.gap(session) {
		g.refresh(session)
	}
	switch {
	case l.From == g.tag:
	case l.Ended:
		g.endRoom(session)
	case l.Ask != "":
		g.answerAsk(session, l)
	case l.Event != "":
		if err := g.broadcast(session, l.Event, l.Data); err != nil {
			g.deps.Logger.Warn("an event from another node could not be sent on", slog.String("event", "socket.relay_failed"), slog.Any("error", err))
		}
	}
}

// CloseSession implements oracle.SessionCloser: the pages of a deleted session
// are disconnected, on every node, and do not come back by themselves.
func (g *Gateway) CloseSession(ctx context.Context, session string) {
	g.endRoom(session)
	if g.cfg.Alone {
		return
	}
	if err := g.post(ctx, roomOf(session), letter{From: g.tag, Ended: true}); err != nil {
		g.deps.Logger.Warn("other nodes could not be told that a session is gone", slog.String("event", "socket.farewell_failed"), slog.Any("error", err))
	}
}

func (g *Gateway) endRoom(session string) {
	for _, s := range g.all.Members(session) {
		s.Disconnect(true)
	}
}
