package call

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callframe"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callsignal"
)

// Taken is why a call ends in one page alone: it goes on in another.
const Taken Reason = "taken"

// ErrTaken says to a page that its call goes on in another.
var ErrTaken = fault.New(fault.Conflict, "The call goes on in another tab").WithCode(string(Taken))

// side is the page's end of a call.
type side struct {
	page    oracle.PageRef
	peer    Peer
	hears   *ear // what the peer tells; another peer has another
	remote  string
	frames  *callframe.Keys
	frameOf string
}

// giveBack undoes what an offer changed that came to nothing: the call goes on where it was.
func (l *live) giveBack(before side) {
	l.mu.Lock()
	failed, ended := l.peer, l.ended
	l.side = before
	l.mu.Unlock()
	if failed == before.peer {
		return
	}
	l.close(failed)
	if ended && before.peer != nil {
		l.close(before.peer)
	}
}

// tookOver ends the side that there was before an offer, if it is another one.
func (l *live) tookOver(ctx context.Context, before side) {
	l.mu.Lock()
	is, other := l.page, l.peer != before.peer
	if other && before.peer != nil {
		l.former.add(before.remote, before.page, is)
		if l.absent == nil && !l.ended {
			//nolint:contextcheck // a call outlives who signals
			l.absent = time.AfterFunc(l.s.cfg.Reconnect, func() { l.end(Timeout) })
		}
	}
	l.mu.Unlock()
	if !other {
		return
	}
	l.tellTaken(ctx, before.page, is)
	if before.peer != nil {
		l.close(before.peer)
	}
}

// formerPages are those that a call was in, by the transports that they had and by
// their sockets: one that does not know yet that its call was taken over must not take it
// back, nor end it. There are at most as many as a call may have peers.
type formerPages struct {
	transports []string
	sockets    []oracle.PageRef
}

// add notes that a transport of a page gave way to another one. The page may be the same.
func (f *formerPages) add(transport string, was, is oracle.PageRef) {
	f.transports = append(f.transports, transport)
	if was != is {
		f.sockets = append(f.sockets, was)
	}
	f.sockets = slices.DeleteFunc(f.sockets, func(p oracle.PageRef) bool { return p == is }) // it took it back
}

func (f *formerPages) has(transport string) bool { return slices.Contains(f.transports, transport) }

// wasTaken reports whether the call was taken from a page.
func (l *live) wasTaken(from oracle.PageRef) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.former.sockets, from)
}

// hadTransport reports whether the call was taken from a transport. A page whose socket
// was away when that happened has another one now, and is known by this alone.
func (l *live) hadTransport(fingerprint string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.former.has(fingerprint)
}

// Advance moves one of the user's calls on, wherever its media is. A page that says
// which transport it is (from; empty is anybody) ends no call that was taken from it.
func (s *Service) Advance(ctx context.Context, owner, id string, to Status, why Reason, from string) (View, error) {
	if !oracle.PlausibleID(id) {
		return View{}, ErrNotFound
	}
	if to == Ended && why == "" {
		why = Hangup
	}
	if to == Ended && from != "" {
		switch taken, err := s.hangUp(ctx, owner, id, why, from); {
		case err != nil:
			return View{}, err
		case taken:
			return View{}, ErrTaken
		}
	}
	r, changed, err := s.deps.Store.AdvanceCall(ctx, owner, id, to, why, time.Now())
	if err != nil {
		return View{}, err
	}
	if changed && to == Ended {
		s.tellEnded(ctx, id)
	}
	return s.view(r), nil
}

// takenAck says to a page that its call ended there alone.
var takenAck = json.RawMessage(`{"ok":true,"taken":true}`)

// hangUp ends a call for the page of a transport, wherever the call is, and reports
// whether it was taken from that page. Where nobody answers its record decides.
func (s *Service) hangUp(ctx context.Context, owner, id string, why Reason, from string) (taken bool, err error) {
	r, err := s.deps.Store.Call(ctx, owner, id)
	if err != nil {
		return false, err
	}
	ack, err := s.Signal(ctx, oracle.PageRef{Owner: owner, SessionID: r.SessionID}, oracle.ClientCallEnd,
		raw(callsignal.Farewell{CallID: id, Reason: string(why), Fingerprint: from}))
	if err != nil {
		s.log.Debug("the node of a call does not answer", slog.Any("error", err))
	}
	return bytes.Equal(ack, takenAck), nil
}

// tellTaken tells a page that its call goes on in another. One that was reloaded is not
// there to be told.
func (l *live) tellTaken(ctx context.Context, was, is oracle.PageRef) {
	if was.Socket == "" || was == is {
		return
	}
	e, err := oracle.NewEvent(oracle.EventCallEnd, oracle.Address{SessionID: l.rec.SessionID}, oracle.CallEndPayload{
		SessionID: l.rec.SessionID, CallID: l.rec.ID, Reason: string(Taken),
	})
	if err == nil {
		err = l.s.deps.Pages.EmitTo(ctx, was, e)
	}
	if err != nil {
		l.log.Debug("a page was not told that its call was taken over", slog.Any("error", err))
	}
}
