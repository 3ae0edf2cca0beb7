package call

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callframe"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callsignal"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callsound"
)

// Guard decides whether a credential holds, and tells when it no longer does.
type Guard interface {
	Authenticate(ctx context.Context, surface identity.Surface, c identity.Credentials) (identity.Principal, error)
	OnEnd(p identity.Principal, end func()) (stop func())
}

// Pages reaches open pages: one, or all of a session.
type Pages interface {
	oracle.PageEmitter
	oracle.Publisher
}

// Deps is what a Service needs. Speech and Archive may be nil.
type Deps struct {
	Store    Store
	Endpoint Endpoint
	Signer   did.Signer
	Guard    Guard
	Pages    Pages
	Oracle   Oracle
	Speech   SpeechServices
	Archive  Archive
	Bus      bus.Bus
	Log      *slog.Logger
}

// Config limits calls. Zero values mean the defaults.
type Config struct {
	Node string
	// OracleName is what the built-in greeting calls the oracle.
	OracleName string
	MaxLength  time.Duration // 1h
	PerUser    int           // 2 calls at once, in the fleet
	PerNode    int           // 100
	Connect    time.Duration // 60s from the record to media
	Reconnect  time.Duration // 30s without media
	Lease      time.Duration // 15s: how long a silent node keeps its calls
	Look       time.Duration // 1s between looks at the records
	// Part is how much sound is recorded at a time: what a node that dies takes
	// along. 5s, or what keeps the number of parts of a call in bounds.
	Part     time.Duration
	Detector callsound.DetectorConfig
}

func (c Config) withDefaults() Config {
	c.MaxLength = cmp.Or(c.MaxLength, time.Hour)
	c.Connect = cmp.Or(c.Connect, time.Minute)
	c.Reconnect = cmp.Or(c.Reconnect, 30*time.Second)
	c.Lease = cmp.Or(c.Lease, 15*time.Second)
	c.Look = cmp.Or(c.Look, time.Second)
	c.Part = cmp.Or(c.Part, max(5*time.Second, c.MaxLength/maxParts))
	c.PerUser = cmp.Or(c.PerUser, 2)
	c.PerNode = cmp.Or(c.PerNode, 100)
	return c
}

// Service makes calls and keeps those of this node going. Run must run.
type Service struct {
	deps Deps
	cfg  Config
	log  *slog.Logger

	// base is the context of what outlives a request.
	base context.Context //nolint:containedctx // calls outlive the requests that began them
	// work counts what goes on for calls of this node.
	work sync.WaitGroup

	mu       sync.Mutex
	stopping bool
	lives    map[string]*live
	opening  int
	served   int64

	// heard counts samples, utterances what was made of them.
	heard, utterances atomic.Int64
}

var _ oracle.CallHandler = (*Service)(nil)

// New makes a Service.
func New(d Deps, cfg Config) *Service {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{
		deps: d, cfg: cfg.withDefaults(), log: d.Log, base: context.Background(), lives: make(map[string]*live),
	}
}

// Request asks for a call.
type Request struct {
	SessionID string
	Type      Type
	Voice     string
	Language  string
	Framed    bool
	// Record asks for the sound of the call in the caller's files.
	Record bool
	// RecordFormat is what kind of file it becomes; empty means Ogg.
	RecordFormat RecordingFormat
}

// View is a call as its owner sees it.
type View struct {
	Record
	// Identity and Servers are nil once the call has ended.
	Identity  *Identity
	Servers   []ICEServer
	MaxLength time.Duration
	// Hearing and Speaks tell which halves of speech there are.
	Hearing, Speaks bool
}

// Create makes a pending call on this node, standing on the principal's credential.
func (s *Service) Create(ctx context.Context, who identity.Principal, q Request) (_ View, err error) {
	if err := s.reserve(); err != nil {
		return View{}, err
	}
	defer s.unreserve()
	key, err := s.deps.Endpoint.Prepare()
	if err != nil {
		return View{}, fmt.Errorf("prepare call: %w", err)
	}
	defer func() {
		if err != nil {
			key.Close()
		}
	}()
	agreement, public, err := callframe.NewAgreement()
	if err != nil {
		return View{}, err
	}
	now := time.Now()
	r := Record{
		ID: oracle.NewID(), SessionID: q.SessionID, Owner: who.DID, Node: s.cfg.Node, Type: q.Type, Status: Pending,
		Voice: q.Voice, Language: q.Language, Framed: q.Framed, Fingerprint: key.Fingerprint(), Agreement: public,
		CreatedAt: now, ExpiresAt: now.Add(s.cfg.MaxLength),
	}
	if !who.Expires.IsZero() && who.Expires.Before(r.ExpiresAt) {
		r.ExpiresAt = who.Expires
	}
	if q.Record {
		if r.Recording, err = s.beginRecording(ctx, r, q.RecordFormat, who.Brought()); err != nil {
			return View{}, err
		}
	}
	l := newLive(s, r, key, agreement)
	if l.recorder, err = recorderOf(l, who.Brought()); err != nil {
		s.dropRecording(ctx, r, who.Brought())
		return View{}, err
	}
	if err := s.deps.Store.CreateCall(ctx, r, Claim{PerUser: s.cfg.PerUser, TTL: s.cfg.Lease}); err != nil {
		s.dropRecording(ctx, r, who.Brought())
		return View{}, err
	}
	if l.recorder != nil {
		l.unrecord = l.record() //nolint:contextcheck // a call outlives the request
	}
	s.mu.Lock()
	s.lives[r.ID] = l
	s.served++
	stopping := s.stopping
	s.mu.Unlock()
	l.begin(who) //nolint:contextcheck // a call outlives the request
	if stopping {
		l.end(Drained) //nolint:contextcheck // a call outlives the request
	}
	return s.view(r), nil
}

var (
	errFull     = fault.New(fault.Unavailable, "All lines are busy").WithCode("call_limit").WithRetryAfter(10 * time.Second)
	errStopping = fault.New(fault.Unavailable, "The server is stopping").WithCode("unavailable").WithRetryAfter(time.Second)
)

func (s *Service) reserve() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopping:
		return errStopping
	case len(s.lives)+s.opening >= s.cfg.PerNode:
		return errFull
	}
	s.opening++
	return nil
}

func (s *Service) unreserve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opening--
}

func (s *Service) view(r Record) View {
	v := View{Record: r, MaxLength: s.cfg.MaxLength, Hearing: s.hearing() != nil, Speaks: s.voice() != nil}
	if r.Status != Ended {
		id := identify(s.deps.Signer, r)
		v.Identity, v.Servers = &id, s.deps.Endpoint.Servers(r.Owner, r.ExpiresAt)
	}
	return v
}

// Call returns one of the user's calls.
func (s *Service) Call(ctx context.Context, owner, id string) (View, error) {
	if !oracle.PlausibleID(id) {
		return View{}, ErrNotFound
	}
	r, err := s.deps.Store.Call(ctx, owner, id)
	if err != nil {
		return View{}, err
	}
	return s.view(r), nil
}

// maxListed bounds a list of calls.
const maxListed = 100

// Calls lists the calls of one of the user's sessions, or, when none is named, those of
// all that have not ended; newest first.
func (s *Service) Calls(ctx context.Context, owner, sessionID string) ([]View, error) {
	var (
		list []Record
		err  error
	)
	switch {
	case sessionID == "":
		list, err = s.deps.Store.OpenCalls(ctx, owner, maxListed)
	case !oracle.PlausibleID(sessionID):
		err = oracle.ErrSessionNotFound
	default:
		list, err = s.deps.Store.Calls(ctx, owner, sessionID, maxListed)
	}
	if err != nil {
		return nil, err
	}
	out := make([]View, len(list))
	for i, r := range list {
		out[i] = s.view(r)
	}
	return out, nil
}

// subjectLook asks the node of a call to look at its record again.
const subjectLook = "oracle.call.look" // data: call id

func deskOf(node string) string { return "oracle.call.desk." + bus.Token(node) }

func (s *Service) tellEnded(ctx context.Context, id string) {
	if s.live(id) != nil {
		s.look(ctx, id)
		return
	}
	if err := s.deps.Bus.Publish(context.WithoutCancel(ctx), subjectLook, []byte(id)); err != nil {
		s.log.Debug("the node of a call looks by itself", slog.Any("error", err))
	}
}

func (s *Service) live(id string) *live {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lives[id]
}

func (s *Service) forget(l *live) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.lives, l.rec.ID)
}

func (s *Service) all() []*live {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*live, 0, len(s.lives))
	for _, l := range s.lives {
		out = append(out, l)
	}
	return out
}

// Stats is a snapshot for metrics.
type Stats struct {
	Live   int
	Served int64
	// Heard is how much sound has come from callers, Utterances how often they
	// said something.
	Heard      time.Duration
	Utterances int64
}

// Stats returns the counters of this node.
func (s *Service) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{
		Live: len(s.lives), Served: s.served,
		Heard: time.Duration(s.heard.Load()) * time.Second / callsound.HeardRate, Utterances: s.utterances.Load(),
	}
}

// forwarded is an event for the node of a call.
type forwarded struct {
	From oracle.PageRef   `json:"from"`
	Name oracle.EventName `json:"name"`
	Data json.RawMessage  `json:"data"`
}

// letter is a forwarded event with the fleet's signature: whoever reaches the bus
// must not be able to signal in a user's name.
type letter struct {
	Body      json.RawMessage `json:"body"`
	Signature []byte          `json:"signature"`
}

// letterText is what is signed: an event for one node.
func letterText(node string, body []byte) []byte {
	return append([]byte("castalia-call-signal-v1\n"+node+"\n"), body...)
}

func (s *Service) seal(node string, f forwarded) []byte {
	body := raw(f)
	return raw(letter{Body: body, Signature: s.deps.Signer.Sign(letterText(node, body))})
}

// unseal reads a letter to this node that one of the fleet has written.
func (s *Service) unseal(data []byte) (f forwarded, err error) {
	var l letter
	if err := json.Unmarshal(data, &l); err != nil {
		return f, fault.Wrap(fault.Invalid, "The event cannot be read", err)
	}
	if !s.deps.Signer.Key().Verify(did.EdDSA, letterText(s.cfg.Node, l.Body), l.Signature) {
		return f, fault.New(fault.Forbidden, "The event is not from a node of this fleet")
	}
	if err := json.Unmarshal(l.Body, &f); err != nil {
		return f, fault.Wrap(fault.Invalid, "The event cannot be read", err)
	}
	return f, nil
}

// forwardTime is how long another node may take.
const forwardTime = 10 * time.Second

// Signal implements oracle.CallHandler: here when the call is on this node, and
// otherwise at the node that has it.
func (s *Service) Signal(ctx context.Context, from oracle.PageRef, name oracle.EventName,
	data json.RawMessage,
) (json.RawMessage, error) {
	if len(data) > callsignal.MaxSignal {
		return nil, callsignal.Invalid("the event must have at most %d bytes", callsignal.MaxSignal)
	}
	var about struct {
		CallID string `json:"callId"`
	}
	if json.Unmarshal(data, &about) != nil || about.CallID == "" {
		return nil, callsignal.Invalid("callId should not be empty")
	}
	if !oracle.PlausibleID(about.CallID) {
		return nil, ErrNotFound
	}
	if l := s.live(about.CallID); l != nil {
		return l.signal(ctx, from, name, data)
	}
	r, err := s.deps.Store.Call(ctx, from.Owner, about.CallID)
	switch {
	case err != nil:
		return nil, err
	case r.SessionID != from.SessionID:
		return nil, ErrNotFound
	case r.Status == Ended && name == oracle.ClientCallEnd:
		return okAck, nil
	case r.Status == Ended || r.Node == s.cfg.Node:
		return nil, ErrEnded
	}
	ctx, cancel := context.WithTimeout(ctx, forwardTime)
	defer cancel()
	answer, err := s.deps.Bus.Request(ctx, deskOf(r.Node), s.seal(r.Node, forwarded{From: from, Name: name, Data: data}))
	if errors.Is(err, bus.ErrNoResponder) {
		return nil, fault.Wrap(fault.Unavailable, "The node of this call does not answer", err).WithCode("unavailable")
	}
	return answer, err
}

// receive is this node's desk: events that pages sent to other nodes.
func (s *Service) receive(ctx context.Context, data []byte) ([]byte, error) {
	f, err := s.unseal(data)
	if err != nil {
		return nil, err
	}
	var about struct {
		CallID string `json:"callId"`
	}
	if err := json.Unmarshal(f.Data, &about); err != nil {
		return nil, ErrNotFound
	}
	l := s.live(about.CallID)
	if l == nil {
		return nil, ErrEnded
	}
	return l.signal(ctx, f.From, f.Name, f.Data)
}

var okAck = json.RawMessage(`{"ok":true}`)

// SessionDeleted ends the calls of a session that is gone, on every node.
func (s *Service) SessionDeleted(ctx context.Context, sessionID string) {
	for _, l := range s.all() {
		if l.rec.SessionID == sessionID {
			l.end(SessionGone) //nolint:contextcheck // a call outlives the request
		}
	}
	if err := s.deps.Bus.Publish(context.WithoutCancel(ctx), subjectLook, nil); err != nil {
		s.log.Debug("the nodes of calls look by themselves", slog.Any("error", err))
	}
}

// Drain implements oracle.CallHandler. It returns when the pages were told and the
// records written, or ctx ends.
func (s *Service) Drain(ctx context.Context) {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	mine := s.all()
	for _, l := range mine {
		l.end(Drained) //nolint:contextcheck // a call outlives the request
	}
	for _, l := range mine {
		select {
		case <-l.done:
		case <-ctx.Done():
			return
		}
	}
}

// DrainWithin is Drain without a context, for who outlives a request.
func (s *Service) DrainWithin(limit time.Duration) {
	ctx, cancel := context.WithTimeout(s.base, limit)
	defer cancel()
	s.Drain(ctx)
}

// Run keeps this node's calls until ctx ends, then drains them.
func (s *Service) Run(ctx context.Context) error {
	desk, err := s.deps.Bus.Respond(deskOf(s.cfg.Node), s.receive)
	if err != nil {
		return fmt.Errorf("open call desk: %w", err)
	}
	defer func() { _ = desk.Unsubscribe() }()
	news, err := s.deps.Bus.Subscribe(subjectLook, func(m bus.Message) {
		if id := string(m.Data); id != "" && s.live(id) == nil {
			return
		}
		s.reconcile(ctx)
	})
	if err != nil {
		return fmt.Errorf("follow calls: %w", err)
	}
	defer func() { _ = news.Unsubscribe() }()
	s.keep(ctx)
	s.Drain(context.WithoutCancel(ctx))
	s.work.Wait()
	return nil
}

// keep looks at the records, renews this node's and ends those of dead nodes.
// These go on beside each other: whoever is not renewed in time is taken for dead,
// and looks, sweeps and recordings wait for stores that may not answer.
func (s *Service) keep(ctx context.Context) {
	var parts sync.WaitGroup
	defer parts.Wait()
	for _, part := range []struct {
		every time.Duration
		do    func(context.Context)
	}{
		{s.cfg.Look, s.reconcile},
		{s.cfg.Lease / 3, s.renew},
		{s.cfg.Lease / 3, s.sweep},
		{s.cfg.Lease / 3, s.finishRecordings},
	} {
		parts.Go(func() {
			pace.Every(ctx, part.every, func() bool {
				part.do(ctx)
				return true
			})
		})
	}
}

func (s *Service) renew(ctx context.Context) {
	if len(s.all()) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Lease/3) // then the next one tries
	defer cancel()
	if err := s.deps.Store.RenewCalls(ctx, s.cfg.Node, s.cfg.Lease); err != nil &&
		!errors.Is(ctx.Err(), context.Canceled) {
		s.log.Warn("the calls of this node could not be renewed", slog.String("event", "call.renew_failed"), slog.Any("error", err))
	}
}

// reconcile ends here what was ended elsewhere.
func (s *Service) reconcile(ctx context.Context) {
	mine := s.all()
	if len(mine) == 0 {
		return
	}
	held, err := s.deps.Store.HeldCalls(ctx, s.cfg.Node)
	if err != nil {
		if ctx.Err() == nil {
			s.log.Warn("the records of calls could not be read", slog.String("event", "call.read_failed"), slog.Any("error", err))
		}
		return
	}
	alive := make(map[string]bool, len(held))
	for _, id := range held {
		alive[id] = true
	}
	for _, l := range mine {
		if !alive[l.rec.ID] {
			s.look(ctx, l.rec.ID)
		}
	}
}

// look ends a live call whose record has ended.
func (s *Service) look(ctx context.Context, id string) {
	l := s.live(id)
	if l == nil {
		return
	}
	r, err := s.deps.Store.Call(ctx, l.rec.Owner, id)
	switch {
	case errors.Is(err, ErrNotFound):
		l.end(SessionGone) //nolint:contextcheck // a call outlives the request
	case err == nil && r.Status == Ended:
		l.end(r.Reason) //nolint:contextcheck // a call outlives the request
	}
}

// sweep ends the calls of nodes that died, and tells their pages.
func (s *Service) sweep(ctx context.Context) {
	gone, err := s.deps.Store.SweepCalls(ctx, time.Now(), maxListed)
	if err != nil {
		if ctx.Err() == nil {
			s.log.Warn("the calls of dead nodes could not be ended", slog.String("event", "call.sweep_failed"), slog.Any("error", err))
		}
		return
	}
	for _, r := range gone {
		s.log.Info("a call lost its node", slog.String("event", "call.node_lost"), slog.String("call_id", r.ID), slog.String("node", r.Node))
		e, err := oracle.NewEvent(oracle.EventCallEnd, oracle.Address{SessionID: r.SessionID}, oracle.CallEndPayload{
			SessionID: r.SessionID, CallID: r.ID, Reason: string(Interrupted),
		})
		if err == nil {
			err = s.deps.Pages.Publish(ctx, e)
		}
		if err != nil {
			s.log.Debug("a page was not told that its call is over", slog.Any("error", err))
		}
	}
}
