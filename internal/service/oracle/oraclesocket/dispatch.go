package oraclesocket

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/socketio"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

// Times of a call between nodes.
const (
	sendTimeout = 2 * time.Second // to hand a call to another node
	reconcile   = time.Second     // between questions about a call whose answer is due
)

// presence is a page that could take a call.
type presence struct {
	Ask    string `json:"ask"`
	Node   string `json:"node"`
	Socket string `json:"socket"`
	Active int64  `json:"active"`
	// Named says that the call names this page.
	Named bool `json:"named,omitempty"`
	// Signed says that its user came with an invocation, and not by a delegation alone,
	// which can be in other hands.
	Signed bool `json:"signed,omitempty"`
}

// nearer orders pages: those whose user signed for them, then the one that the call
// names, then the one used last. Anybody can give a page the name of another.
func nearer(a, b presence) int {
	return cmp.Or(cmp.Compare(rank(b.Signed), rank(a.Signed)), cmp.Compare(rank(b.Named), rank(a.Named)),
		cmp.Compare(b.Active, a.Active))
}

func rank(first bool) int {
	if first {
		return 1
	}
	return 0
}

// asks are the questions of this node that others answer.
type asks struct {
	mu      sync.Mutex
	waiting map[string]chan<- presence
}

// note is what nodes send to each other's inbox.
type note struct {
	Here    *presence       `json:"here,omitempty"`
	Settled string          `json:"settled,omitempty"`
	Outcome *oracle.Outcome `json:"outcome,omitempty"`
	// Emit is an event for one socket of the node that gets the note.
	Emit *emission `json:"emit,omitempty"`
}

// order is what nodes ask of each other's desk.
type order struct {
	// Call is to be sent to Socket; its outcome goes to the node Reply.
	Call   *oracle.Call `json:"call,omitempty"`
	Socket string       `json:"socket,omitempty"`
	Reply  string       `json:"reply,omitempty"`
	// About asks how a call stands.
	About string `json:"about,omitempty"`
}

// standing is the answer to an order.
type standing struct {
	// Sent says that the call went to its socket; false means surely not.
	Sent bool `json:"sent"`
	// Open says that its answer is still due.
	Open    bool            `json:"open,omitempty"`
	Outcome *oracle.Outcome `json:"outcome,omitempty"`
}

// Dispatch implements oracle.Dispatcher.
func (g *Gateway) Dispatch(ctx context.Context, c oracle.Call) (oracle.Outcome, error) {
	got, err := g.calls.await(c.ID, c.Owner, g.cfg.MaxCalls)
	if err != nil {
		return oracle.Outcome{}, err
	}
	defer g.calls.unawait(c.ID, c.Owner)
	for _, p := range g.candidates(ctx, c) {
		if err := ctx.Err(); err != nil {
			return oracle.Outcome{}, err
		}
		sent, err := g.sendTo(ctx, p, c)
		if err != nil { // nobody knows whether it was sent: it must not be sent again
			g.deps.Logger.Warn("a call was handed to another node without an answer", slog.String("event", "socket.handover_unanswered"), slog.Any("error", err))
			return oracle.Outcome{Unknown: true}, nil
		}
		if sent {
			return g.waitFor(ctx, p, c, got), nil
		}
	}
	return oracle.Outcome{}, oracle.ErrNoBrowser
}

// candidates lists the pages of the session that could take the call, the nearest
// first.
func (g *Gateway) candidates(ctx context.Context, c oracle.Call) []presence {
	found := g.here(c.SessionID, c.Owner, c.Tab)
	if !g.cfg.Alone {
		found = append(found, g.ask(ctx, c, len(found) > 0)...)
	}
	slices.SortStableFunc(found, nearer)
	return found
}

// here lists the pages on this node.
func (g *Gateway) here(session, owner, tab string) []presence {
	var found []presence
	for _, s := range g.all.Members(session) {
		if p := pageOf(s); p.did == owner {
			found = append(found, presence{
				Node: g.tag, Socket: s.ID(), Active: p.active.Load(), Named: tab != "" && (tab == p.tab || tab == s.ID()),
				Signed: p.token != "",
			})
		}
	}
	return found
}

// firstPageWindows is how many windows a node waits for the first page of all.
const firstPageWindows = 5

// ask asks the other nodes, and waits a moment for their answers: longer while
// there is no page at all, because a busy node is better than none.
func (g *Gateway) ask(ctx context.Context, c oracle.Call, some bool) []presence {
	answers := make(chan presence, 64)
	g.asks.mu.Lock()
	g.asks.waiting[c.ID] = answers
	g.asks.mu.Unlock()
	defer func() {
		g.asks.mu.Lock()
		delete(g.asks.waiting, c.ID)
		g.asks.mu.Unlock()
	}()
	if err := g.post(ctx, roomOf(c.SessionID), letter{From: g.tag, Ask: c.ID, Owner: c.Owner, Tab: c.Tab}); err != nil {
		g.deps.Logger.Warn("the other nodes could not be asked for a page", slog.String("event", "socket.ask_failed"), slog.Any("error", err))
		return nil
	}
	window := time.NewTicker(g.cfg.AskWindow)
	defer window.Stop()
	var found []presence
	for windows := 1; ; {
		select {
		case p := <-answers:
			found = append(found, p)
			if windows > 1 {
				return found
			}
		case <-window.C:
			if some || len(found) > 0 || windows >= firstPageWindows {
				return found
			}
			windows++
		case <-ctx.Done():
			return found
		}
	}
}

// answerAsk tells another node of the page here that is nearest to the call.
func (g *Gateway) answerAsk(session string, l letter) {
	found := g.here(session, l.Owner, l.Tab)
	if len(found) == 0 {
		return
	}
	best := slices.MinFunc(found, nearer)
	best.Ask = l.Ask
	if err := g.post(context.Background(), inboxOf(l.From), note{Here: &best}); err != nil {
		g.deps.Logger.Warn("another node's question could not be answered", slog.String("event", "socket.reply_failed"), slog.Any("error", err))
	}
}

// receive takes what other nodes send to this one's inbox.
func (g *Gateway) receive(m bus.Message) {
	var n note
	if err := json.Unmarshal(m.Data, &n); err != nil {
		g.deps.Logger.Warn("a note on the bus could not be read", slog.String("event", "socket.note_unreadable"), slog.Any("error", err))
		return
	}
	if n.Here != nil {
		g.asks.mu.Lock()
		if answers, ok := g.asks.waiting[n.Here.Ask]; ok {
			select {
			case answers <- *n.Here:
			default: // more nodes than anybody needs to hear of
			}
		}
		g.asks.mu.Unlock()
	}
	if n.Settled != "" && n.Outcome != nil {
		g.calls.resolve(n.Settled, *n.Outcome)
	}
	if n.Emit != nil {
		g.emitHere(*n.Emit)
	}
}

// sendTo hands the call to the page's node. It returns an error only when
// nobody can know whether the page got it.
func (g *Gateway) sendTo(ctx context.Context, p presence, c oracle.Call) (sent bool, err error) {
	if p.Node == g.tag {
		return g.sendHere(c, p.Socket, func(o oracle.Outcome) { g.calls.resolve(c.ID, o) }), nil
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	s, err := g.order(ctx, p.Node, order{Call: &c, Socket: p.Socket, Reply: g.tag})
	if errors.Is(err, bus.ErrNoResponder) || fault.From(err) != nil && fault.From(err).Code == bus.ErrBusy.Code {
		return false, nil
	}
	return s.Sent, err
}

func (g *Gateway) order(ctx context.Context, node string, o order) (s standing, err error) {
	raw, err := json.Marshal(o)
	if err != nil {
		return s, fmt.Errorf("encode order: %w", err)
	}
	answer, err := g.deps.Bus.Request(ctx, deskOf(node), raw)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(answer, &s); err != nil {
		return s, fmt.Errorf("decode standing: %w", err)
	}
	return s, nil
}

// sendHere sends a call to a socket of this node, bare and once.
func (g *Gateway) sendHere(c oracle.Call, socket string, done func(oracle.Outcome)) bool {
	s := g.all.Socket(socket)
	if s == nil || pageOf(s).did != c.Owner || pageOf(s).session != c.SessionID {
		return false
	}
	wait := c.Deadline.Sub(g.deps.Now())
	if wait <= 0 {
		return false
	}
	if !g.calls.expect(c.ID, &pending{socket: socket, session: c.SessionID, kind: c.Kind, until: c.Deadline, done: done},
		wait) {
		return true // it was sent before
	}
	if err := s.Emit(string(c.Kind.Event()), c.Payload()); err != nil {
		return !g.calls.withdraw(c.ID)
	}
	if g.all.Socket(socket) == nil { // it went while we wrote: nobody else tells
		g.calls.lose(socket)
	}
	return true
}

// answer is this node's desk.
func (g *Gateway) answer(_ context.Context, data []byte) ([]byte, error) {
	var o order
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, fault.Wrap(fault.Invalid, "The order cannot be read.", err)
	}
	var s standing
	switch {
	case o.Call != nil:
		id, reply := o.Call.ID, o.Reply
		//nolint:contextcheck // the answer comes long after the order
		s.Sent = g.sendHere(*o.Call, o.Socket, func(out oracle.Outcome) {
			g.tell(reply, id, out)
		})
	case o.About != "":
		out, open, known := g.calls.state(o.About)
		s.Sent, s.Open = known, open
		if known && !open {
			s.Outcome = bounded(&out)
		}
	}
	return json.Marshal(s)
}

// tell hints to the node that waits. It also asks by itself: see waitFor.
func (g *Gateway) tell(node, id string, o oracle.Outcome) {
	if err := g.post(context.Background(), inboxOf(node), note{Settled: id, Outcome: bounded(&o)}); err != nil {
		g.deps.Logger.Warn("an outcome could not be sent to the node that waits for it", slog.String("event", "socket.outcome_failed"), slog.Any("error", err))
	}
}

// maxResult is what of a result travels between nodes.
const maxResult = bus.MaxData - 4096

func bounded(o *oracle.Outcome) *oracle.Outcome {
	if len(o.Result)+len(o.Error) <= maxResult {
		return o
	}
	return &oracle.Outcome{Error: "the result is too large"}
}

// waitFor waits for the outcome of a call that was sent. The hint of another
// node may be lost, and the node too: so it is asked once a second.
func (g *Gateway) waitFor(ctx context.Context, p presence, c oracle.Call, got <-chan oracle.Outcome) oracle.Outcome {
	deadline := time.NewTimer(c.Deadline.Sub(g.deps.Now()))
	defer deadline.Stop()
	tick := time.NewTicker(reconcile)
	defer tick.Stop()
	for {
		select {
		case o := <-got:
			return o
		case <-deadline.C:
			return oracle.Outcome{Unknown: true}
		case <-ctx.Done():
			return oracle.Outcome{Unknown: true}
		case <-tick.C:
			if p.Node != g.tag {
				if o, over := g.inquire(ctx, p.Node, c.ID); over {
					return o
				}
			}
		}
	}
}

// inquire asks how a call stands. A node that is gone, or has forgotten the
// call, took its outcome along.
func (g *Gateway) inquire(ctx context.Context, node, id string) (oracle.Outcome, bool) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	s, err := g.order(ctx, node, order{About: id})
	switch {
	case errors.Is(err, bus.ErrNoResponder):
		return oracle.Outcome{Unknown: true}, true
	case err != nil || s.Open: // the bus may be away for a moment
		return oracle.Outcome{}, false
	case s.Outcome != nil:
		return *s.Outcome, true
	}
	return oracle.Outcome{Unknown: true}, true
}

// settle takes a page's answer to a call. It counts only from the socket that
// the call went to, in its session and for its kind, and once.
func (g *Gateway) settle(s *socketio.Socket, e *socketio.Event, kind oracle.CallKind) {
	var r result
	accepted := false
	if err := e.Decode(0, &r); err == nil && r.ToolCallID != "" {
		accepted = g.calls.settle(r.ToolCallID, r.outcome(kind), func(p *pending) bool {
			return p.socket == s.ID() && p.kind == kind && (r.SessionID == nil || *r.SessionID == p.session) &&
				g.deps.Now().Before(p.until)
		})
	}
	if e.WantsAck() {
		_ = e.Ack(map[string]bool{"accepted": accepted}) // a socket that goes needs none
	}
}
