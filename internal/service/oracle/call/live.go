package call

import (
	"context"
	"crypto/ecdh"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callframe"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callsignal"
)

// maxPeers bounds how often one call may change its peer.
const maxPeers = 64

// maxOffers bounds how often one call may be negotiated: what an offer adds stays with
// its peer.
const maxOffers = 256

// settling is how long what nobody waits for leaves the processor to a call that connects.
const settling = 20 * time.Millisecond

// writeTime bounds what is written when a call ends.
const writeTime = 10 * time.Second

// live is a call on its node.
type live struct {
	s         *Service
	rec       Record // as it was made
	key       TransportKey
	agreement *ecdh.PrivateKey
	log       *slog.Logger

	// offers are taken one at a time.
	offers sync.Mutex
	// done is closed when everything about the call has ended.
	done chan struct{}

	mu      sync.Mutex
	ended   bool
	active  bool
	expires time.Time
	who     identity.Principal
	unwatch func()
	over    *time.Timer // at expires
	absent  *time.Timer // while there is no media
	side
	former formerPages
	peers  int
	// offersTaken counts all offers of the call.
	offersTaken int
	talk        *talk

	// recorder is nil for calls that are not recorded; unrecord stops it.
	recorder *recorder
	unrecord func()
}

func newLive(s *Service, r Record, key TransportKey, agreement *ecdh.PrivateKey) *live {
	return &live{
		s: s, rec: r, key: key, agreement: agreement, expires: r.ExpiresAt, done: make(chan struct{}),
		log: s.log.With(slog.String("call_id", r.ID), slog.String("session_id", r.SessionID)),
	}
}

// begin starts the clocks of a call.
func (l *live) begin(who identity.Principal) {
	l.mu.Lock()
	l.absent = time.AfterFunc(l.s.cfg.Connect, func() { l.end(Timeout) })
	l.over = time.AfterFunc(time.Until(l.expires), l.expire)
	l.mu.Unlock()
	l.standOn(who)
}

// standOn makes a credential the one that the call needs.
func (l *live) standOn(who identity.Principal) {
	stop := l.s.deps.Guard.OnEnd(who, func() {
		go l.credentialEnded(who) // the caller must not be held
	})
	l.mu.Lock()
	old := l.unwatch
	l.who, l.unwatch = who, stop
	ended := l.ended
	l.mu.Unlock()
	if old != nil {
		old()
	}
	if ended {
		stop()
	}
}

func (l *live) credentialEnded(who identity.Principal) {
	l.mu.Lock()
	current := l.who.TokenCID == who.TokenCID && l.who.Expires.Equal(who.Expires)
	l.mu.Unlock()
	if !current {
		return
	}
	if !who.Expires.IsZero() && !time.Now().Before(who.Expires) {
		l.end(TokenExpired)
		return
	}
	l.end(TokenRevoked)
}

// expire ends a call whose time is over.
func (l *live) expire() {
	l.mu.Lock()
	reason := TooLong
	if !l.who.Expires.IsZero() && !l.who.Expires.After(l.expires) {
		reason = TokenExpired
	}
	l.mu.Unlock()
	l.end(reason)
}

// signal takes one event of a page.
func (l *live) signal(ctx context.Context, from oracle.PageRef, name oracle.EventName,
	data json.RawMessage,
) (json.RawMessage, error) {
	if from.Owner != l.rec.Owner || from.SessionID != l.rec.SessionID {
		return nil, ErrNotFound
	}
	switch name {
	case oracle.ClientCallOffer:
		o, err := callsignal.ParseOffer(data)
		if err != nil {
			return nil, err
		}
		return l.offered(ctx, from, o)
	case oracle.ClientCallICE:
		t, err := callsignal.ParseTrickle(data)
		if err != nil {
			return nil, err
		}
		if l.wasTaken(from) {
			return nil, ErrTaken
		}
		return okAck, l.trickled(t)
	case oracle.ClientCallEnd:
		f, err := callsignal.ParseFarewell(data)
		if err != nil {
			return nil, err
		}
		if l.wasTaken(from) || l.hadTransport(f.Fingerprint) { // it ends there alone
			return takenAck, nil
		}
		reason := Reason(f.Reason)
		if reason == "" {
			reason = Hangup
		}
		l.end(reason) //nolint:contextcheck // a call outlives who signals
		return okAck, nil
	case oracle.ClientCallRenew:
		r, err := callsignal.ParseRenewal(data)
		if err != nil {
			return nil, err
		}
		return l.renew(ctx, r)
	}
	return nil, callsignal.Invalid("the event %q is not about calls", name)
}

type offerAck struct {
	OK       bool     `json:"ok"`
	CallID   string   `json:"callId"`
	SDP      string   `json:"sdp"`
	Identity Identity `json:"identity"`
}

// offered answers an offer: with the peer that there is when the page is the
// same, and with a new one when it is another.
func (l *live) offered(ctx context.Context, from oracle.PageRef, o callsignal.Offer) (json.RawMessage, error) {
	l.offers.Lock()
	defer l.offers.Unlock()
	l.mu.Lock()
	before := l.side
	l.mu.Unlock()
	answer, err := l.answer(ctx, from, o)
	if err != nil {
		l.giveBack(before)
		return nil, err
	}
	l.tookOver(ctx, before)
	return raw(offerAck{OK: true, CallID: l.rec.ID, SDP: answer, Identity: identify(l.s.deps.Signer, l.rec)}), nil
}

func (l *live) answer(ctx context.Context, from oracle.PageRef, o callsignal.Offer) (sdp string, err error) {
	frames, err := l.frameKeys(o)
	if err != nil {
		return "", err
	}
	l.mu.Lock()
	if l.ended {
		l.mu.Unlock()
		return "", ErrEnded
	}
	if l.offersTaken++; l.offersTaken > maxOffers {
		l.mu.Unlock()
		return "", fault.New(fault.RateLimited, "The call was negotiated too often").WithCode("rate_limited")
	}
	if l.former.has(o.Fingerprint) {
		l.mu.Unlock()
		return "", ErrTaken
	}
	l.page = from
	peer := l.peer
	same := peer != nil && l.remote == o.Fingerprint
	l.mu.Unlock()
	if !same {
		if peer, err = l.replacePeer(o.Fingerprint, frames); err != nil {
			return "", err
		}
	}
	return peer.Answer(ctx, o.SDP)
}

// frameKeys are those of the page's key. They stay while the key stays, because
// a nonce must not come twice.
func (l *live) frameKeys(o callsignal.Offer) (*callframe.Keys, error) {
	if !l.rec.Framed {
		return nil, nil //nolint:nilnil // this call has no frame layer
	}
	if o.FrameKey == "" {
		return nil, callsignal.Invalid("frameKey should not be empty: the call was made with e2ee")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.frames != nil && l.frameOf == o.FrameKey {
		return l.frames, nil
	}
	theirs, err := callframe.ParseAgreement(o.FrameKey)
	if err != nil {
		return nil, callsignal.Invalid("frameKey: %s", err)
	}
	keys, err := callframe.OracleKeys(l.rec.ID, l.agreement, theirs)
	if err != nil {
		return nil, callsignal.Invalid("frameKey: %s", err)
	}
	l.frames, l.frameOf = keys, o.FrameKey
	return keys, nil
}

// replacePeer makes a new peer; the old one is kept until the new one has answered.
func (l *live) replacePeer(remote string, frames *callframe.Keys) (Peer, error) {
	l.mu.Lock()
	if l.peers++; l.peers > maxPeers {
		l.mu.Unlock()
		return nil, fault.New(fault.RateLimited, "The call was begun anew too often").WithCode("rate_limited")
	}
	l.mu.Unlock()
	hears := &ear{l: l}
	peer, err := l.s.deps.Endpoint.Open(PeerSpec{
		Owner: l.rec.Owner, Key: l.key, Remote: remote, Video: l.rec.Type == Video, Frames: frames, Listener: hears,
	})
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	if l.ended {
		l.mu.Unlock()
		_ = peer.Close()
		return nil, ErrEnded
	}
	l.peer, l.hears, l.remote = peer, hears, remote
	l.mu.Unlock()
	return peer, nil
}

func (l *live) close(peer Peer) {
	if err := peer.Close(); err != nil {
		l.log.Debug("a peer did not close well", slog.Any("error", err))
	}
}

func (l *live) trickled(t callsignal.Trickle) error {
	l.mu.Lock()
	peer, ended := l.peer, l.ended
	l.mu.Unlock()
	switch {
	case ended:
		return ErrEnded
	case peer == nil:
		return fault.New(fault.Conflict, "An offer must come before its candidates").WithCode("conflict")
	case t.Candidate == nil:
		return nil
	}
	return peer.AddCandidate(*t.Candidate)
}

type renewAck struct {
	OK        bool   `json:"ok"`
	ExpiresAt string `json:"expiresAt"`
}

// renew puts the call on a fresh credential of the same user.
func (l *live) renew(ctx context.Context, r callsignal.Renewal) (json.RawMessage, error) {
	who, err := l.s.deps.Guard.Authenticate(ctx, identity.Oracle, identity.Handshake(r.Invocation, r.UCANDelegation))
	if err != nil {
		return nil, err
	}
	if who.DID != l.rec.Owner {
		return nil, fault.New(fault.Forbidden, "The credential is somebody else's").WithCode("forbidden")
	}
	until := l.rec.CreatedAt.Add(l.s.cfg.MaxLength)
	if !who.Expires.IsZero() && who.Expires.Before(until) {
		until = who.Expires
	}
	if err := l.s.deps.Store.ExtendCall(ctx, l.s.cfg.Node, l.rec.ID, until); err != nil {
		return nil, err
	}
	l.standOn(who) //nolint:contextcheck // a call outlives who signals
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return nil, ErrEnded
	}
	l.expires = until
	l.over.Reset(time.Until(until))
	return raw(renewAck{OK: true, ExpiresAt: oracle.Timestamp(until)}), nil
}

// connected notes that media flows; the first time makes the call active.
func (l *live) connected() {
	l.mu.Lock()
	if l.ended {
		l.mu.Unlock()
		return
	}
	if l.absent != nil {
		l.absent.Stop()
		l.absent = nil
	}
	first := !l.active
	l.active = true
	l.mu.Unlock()
	if !first {
		return
	}
	l.s.work.Go(func() {
		began := time.Now()
		for wait := settling; ; wait = l.s.cfg.Look { // the store is away for a moment
			select {
			case <-time.After(wait):
			case <-l.done:
				return
			}
			if l.activate(began) {
				return
			}
		}
	})
}

// activate stores that media flows. False means that it must be tried again.
func (l *live) activate(at time.Time) bool {
	ctx, cancel := context.WithTimeout(l.s.base, writeTime)
	defer cancel()
	_, _, err := l.s.deps.Store.AdvanceCall(ctx, l.rec.Owner, l.rec.ID, Active, "", at)
	switch {
	case err == nil:
		l.tellState(ctx, Active)
	case fault.Is(err, fault.Conflict), fault.Is(err, fault.NotFound):
		l.s.look(ctx, l.rec.ID) // it was ended elsewhere
	default:
		l.log.Warn("a call could not be stored as active yet", slog.String("event", "call.store_failed"), slog.Any("error", err))
		return false
	}
	return true
}

// lost notes that media stopped; the page has a while to come back.
func (l *live) lost() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended && l.absent == nil {
		l.absent = time.AfterFunc(l.s.cfg.Reconnect, func() { l.end(Timeout) })
	}
}

// end ends the call once: the page is told, the peer closed, the record written.
func (l *live) end(reason Reason) {
	l.mu.Lock()
	if l.ended {
		l.mu.Unlock()
		return
	}
	l.ended = true
	peer, talk, unwatch := l.peer, l.talk, l.unwatch
	for _, t := range []*time.Timer{l.over, l.absent} {
		if t != nil {
			t.Stop()
		}
	}
	l.mu.Unlock()
	l.s.work.Go(func() {
		defer close(l.done)
		if unwatch != nil {
			unwatch()
		}
		if talk != nil {
			talk.bye(reason)
		}
		ctx, cancel := context.WithTimeout(l.s.base, writeTime)
		defer cancel()
		l.tellEnd(ctx, reason)
		if talk != nil {
			talk.stop()
		}
		if peer != nil {
			l.close(peer)
		}
		l.key.Close()
		if _, _, err := l.s.deps.Store.AdvanceCall(ctx, l.rec.Owner, l.rec.ID, Ended, reason, time.Now()); err != nil &&
			!fault.Is(err, fault.NotFound) {
			l.log.Warn("the end of a call could not be stored; it is swept", slog.String("event", "call.end_failed"), slog.Any("error", err))
		}
		l.keepRecording()
		l.s.forget(l)
		l.log.Info("call ended", slog.String("event", "call.ended"), slog.String("reason", string(reason)))
	})
}

func (l *live) tellEnd(ctx context.Context, reason Reason) {
	name := oracle.EventCallEnd
	if reason == Drained {
		name = oracle.EventCallMoved
	}
	l.emit(ctx, name, oracle.CallEndPayload{SessionID: l.rec.SessionID, CallID: l.rec.ID, Reason: string(reason)})
}

func (l *live) tellState(ctx context.Context, status Status) {
	l.mu.Lock()
	until := l.expires
	l.mu.Unlock()
	l.emit(ctx, oracle.EventCallState, oracle.CallStatePayload{
		SessionID: l.rec.SessionID, CallID: l.rec.ID, CallStatus: string(status), ExpiresAt: oracle.Timestamp(until),
	})
}

// emit tells the page that made the last offer.
func (l *live) emit(ctx context.Context, name oracle.EventName, payload any) {
	l.mu.Lock()
	to := l.page
	l.mu.Unlock()
	if to.Socket == "" {
		return
	}
	e, err := oracle.NewEvent(name, oracle.Address{SessionID: l.rec.SessionID}, payload)
	if err == nil {
		err = l.s.deps.Pages.EmitTo(ctx, to, e)
	}
	if err != nil {
		l.log.Debug("a page was not told", slog.String("socket_event", string(name)), slog.Any("error", err))
	}
}

// ear is what one peer tells its call. What a peer says after it was replaced
// counts no more.
type ear struct{ l *live }

var _ Listener = (*ear)(nil)

func (e *ear) current() (*live, Peer) {
	e.l.mu.Lock()
	defer e.l.mu.Unlock()
	if e.l.ended || e.l.hears != e {
		return nil, nil
	}
	return e.l, e.l.peer
}

// Candidate implements Listener.
func (e *ear) Candidate(c *Candidate) {
	if l, _ := e.current(); l != nil {
		l.emit(l.s.base, oracle.EventCallICE, oracle.CallICEPayload{
			SessionID: l.rec.SessionID, CallID: l.rec.ID, Candidate: c,
		})
	}
}

// PeerState implements Listener.
func (e *ear) PeerState(state PeerState) {
	l, _ := e.current()
	if l == nil {
		return
	}
	switch state {
	case PeerConnected:
		l.connected()
	case PeerLost:
		l.lost()
	case PeerClosed:
		l.lost()
	}
}

// Heard implements Listener.
func (e *ear) Heard(pcm []int16) {
	if t := e.talking(); t != nil {
		t.heard(pcm)
	}
	e.l.s.heard.Add(int64(len(pcm)))
}

// ChannelOpened implements Listener: the conversation begins, or goes on with
// another peer.
func (e *ear) ChannelOpened() {
	l, peer := e.current()
	if l == nil {
		return
	}
	l.mu.Lock()
	t := l.talk
	if t == nil && !l.ended {
		t = newTalk(l)
		l.talk = t
	}
	l.mu.Unlock()
	if t != nil {
		t.attach(peer)
	}
}

func (e *ear) talking() *talk {
	e.l.mu.Lock()
	defer e.l.mu.Unlock()
	if e.l.ended || e.l.hears != e {
		return nil
	}
	return e.l.talk
}

// Message implements Listener.
func (e *ear) Message(data []byte) {
	if t := e.talking(); t != nil {
		t.message(data)
	}
}

// MessageRefused implements Listener.
func (e *ear) MessageRefused() {
	if t := e.talking(); t != nil {
		t.refused()
	}
}
