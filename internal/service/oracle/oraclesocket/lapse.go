package oraclesocket

import (
	"context"
	"log/slog"
	"time"

	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/plugin"
)

// A page keeps no cursor: it reads the transcript again when it hears that
// something changed. So when hints may have been lost, all pages that they may
// have been for are told so.

// lapseSubject is where a node says that hints of its own may be lost.
const lapseSubject = "oracle.socket.lapse"

// Telling many pages to read again is spread, since each of them asks at once.
const (
	lapseBatch = 64
	lapsePause = 10 * time.Millisecond
)

// mend looks for lapses until ctx ends.
func (g *Gateway) mend(ctx context.Context) {
	tick := time.NewTicker(g.cfg.Mend)
	defer tick.Stop()
	seen := g.deps.Bus.Lapses()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now := g.deps.Bus.Lapses(); now != seen {
			seen = now
			g.lost.Store(true)
			g.stale.Store(true)
		}
		if g.lost.Swap(false) && g.deps.Bus.Publish(ctx, lapseSubject, []byte(g.tag)) != nil {
			g.lost.Store(true) // told at the next look
		}
		if g.stale.Swap(false) {
			g.refreshAll(ctx)
		}
	}
}

// lapsed takes another node's word that hints of its own may be lost.
func (g *Gateway) lapsed(m bus.Message) {
	if string(m.Data) != g.tag {
		g.stale.Store(true)
	}
}

// missed remembers that a hint was not sent because the bus is away.
func (g *Gateway) missed(err error) {
	if fault.Is(err, fault.Unavailable) {
		g.lost.Store(true)
	}
}

// refreshAll tells every page of this node to read again.
func (g *Gateway) refreshAll(ctx context.Context) {
	g.mu.Lock()
	sessions := make([]string, 0, len(g.rooms))
	for session := range g.rooms {
		sessions = append(sessions, session)
	}
	g.mu.Unlock()
	for i, session := range sessions {
		if i%lapseBatch == lapseBatch-1 {
			select {
			case <-ctx.Done():
				return
			case <-time.After(lapsePause):
			}
		}
		g.refresh(session)
	}
}

// refresh tells the pages of a session on this node to read again.
func (g *Gateway) refresh(session string) {
	to := oracle.Address{SessionID: session}
	e, err := oracle.NewEvent(oracle.EventMessageCacheInvalidation, to,
		oracle.MessageCacheInvalidation{Address: to, Status: plugin.Done})
	if err == nil { // bare, since no turn ended: see oracle.Event
		err = g.broadcast(session, e.Name, e.Payload)
	}
	if err != nil {
		g.deps.Logger.Error("pages could not be told to read again", slog.String("event", "socket.refresh_failed"), slog.Any("error", err))
	}
}

// gap reports whether a room's subscription lost hints since it was asked last.
func (g *Gateway) gap(session string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.rooms[session]
	if r == nil || r.sub == nil {
		return false
	}
	before := r.dropped
	r.dropped = r.sub.Dropped()
	return r.dropped != before
}
