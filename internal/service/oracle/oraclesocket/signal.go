package oraclesocket

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/protocol/socketio"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

// signalTime bounds how long an event about a call may take: what comes after it
// on the same socket waits, so that an offer is taken before its candidates.
const signalTime = 15 * time.Second

// TakeCalls makes h the one that hears about live calls. Without one
// pages are told that there are none.
func (g *Gateway) TakeCalls(h oracle.CallHandler) { g.live.Store(&h) }

// refusedSignal is the acknowledgement of an event that was not taken.
type refusedSignal struct {
	OK    bool        `json:"ok"`
	Error signalError `json:"error"`
}

type signalError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

var (
	errNoCalls   = fault.New(fault.Unavailable, "Calls are not offered here").WithCode("unavailable")
	errTooMany   = fault.New(fault.RateLimited, "Too many events").WithCode("rate_limited")
	errBadSignal = fault.New(fault.Invalid, "the event must be a JSON object").WithCode("invalid")
)

// signal hands an event about a call to whoever has the calls and acknowledges it.
func (g *Gateway) signal(s *socketio.Socket, p *page, name oracle.EventName, e *socketio.Event) {
	answer, err := g.askDesk(s, p, name, e)
	if err != nil {
		answer = g.refuseSignal(name, err)
	}
	if e.WantsAck() {
		_ = e.Ack(answer) // a socket that goes needs none
	}
}

func (g *Gateway) askDesk(s *socketio.Socket, p *page, name oracle.EventName,
	e *socketio.Event,
) (json.RawMessage, error) {
	h := g.live.Load()
	if h == nil {
		return nil, errNoCalls
	}
	if ok, _ := g.cfg.Events.Allow(ratelimit.KeyOf(p.did)); !ok {
		return nil, errTooMany
	}
	var data json.RawMessage
	if err := e.Decode(0, &data); err != nil {
		return nil, errBadSignal
	}
	ctx, cancel := context.WithTimeout(s.Context(), signalTime)
	defer cancel()
	return (*h).Signal(ctx, oracle.PageRef{Node: g.tag, Socket: s.ID(), Owner: p.did, SessionID: p.session}, name, data)
}

// refuseSignal says why, without saying more than a page may know.
func (g *Gateway) refuseSignal(name oracle.EventName, err error) json.RawMessage {
	f := fault.From(err)
	if f.Kind == fault.Internal {
		g.deps.Logger.Error("an event about a call failed", slog.String("event", "socket.call_failed"), slog.String("socket_event", string(name)), slog.Any("error", err))
	}
	code := f.Code
	if code == "" {
		code = codeOf(f.Kind)
	}
	raw, err := json.Marshal(refusedSignal{Error: signalError{Code: code, Message: f.Message}})
	if err != nil {
		return json.RawMessage(`{"ok":false}`) // two strings always encode
	}
	return raw
}

// codeOf names the kinds of faults that have no name of their own.
func codeOf(k fault.Kind) string {
	switch k {
	case fault.Invalid:
		return "invalid"
	case fault.NotFound:
		return "not_found"
	case fault.Conflict:
		return "conflict"
	case fault.RateLimited:
		return "rate_limited"
	case fault.Unauthenticated:
		return "unauthenticated"
	case fault.Forbidden:
		return "forbidden"
	case fault.Internal:
		return "internal"
	}
	return "unavailable"
}

// emission is an event on its way to one socket.
type emission struct {
	To   oracle.PageRef   `json:"to"`
	Name oracle.EventName `json:"name"`
	Data json.RawMessage  `json:"data"`
}

// EmitTo implements oracle.PageEmitter.
func (g *Gateway) EmitTo(ctx context.Context, to oracle.PageRef, e oracle.Event) error {
	data, err := e.Hybrid()
	if err != nil {
		return err
	}
	m := emission{To: to, Name: e.Name, Data: data}
	if to.Node == g.tag {
		g.emitHere(m)
		return nil
	}
	return g.post(ctx, inboxOf(to.Node), note{Emit: &m})
}

// emitHere sends to a socket of this node, if it is still that page's.
func (g *Gateway) emitHere(m emission) {
	s := g.all.Socket(m.To.Socket)
	if s == nil {
		return
	}
	if p := pageOf(s); p.did != m.To.Owner || p.session != m.To.SessionID {
		return
	}
	_ = s.Emit(string(m.Name), m.Data) // a socket that goes needs none
}
