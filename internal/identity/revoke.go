package identity

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// hintRevoked is the subject on which a node tells the others to look.
const hintRevoked = "identity.revoked"

// pollInterval bounds how long a node can miss a revocation whose hint was lost.
const pollInterval = 500 * time.Millisecond

// pollPage is how much of a feed is read at once, and revokedAtOnce how much of that of
// revocations, of which there may be a million. Each has to come within readLimit.
const (
	pollPage      = 1000
	revokedAtOnce = 5000
)

// knownFor is how long what a node has read of the feed is good for. It is the
// promise that a revocation counts everywhere after a second, also on a node that
// stood still or could not read: such a one looks first.
const knownFor = time.Second

// readLimit bounds one reading of the feed. On a line that went dead it would
// never end.
const readLimit = 3 * time.Second

// Knows reports whether the target of a revocation was withdrawn before, as far as
// this node knows.
func (s *Service) Knows(r Revocation) bool { return s.revoked.has(nameOf(r.Target), "") }

// Watch returns a channel that is closed when the principal's token is revoked
// or expires or its owner may not come in any more, so that its sockets and streams can be closed too. stop must be
// called when nobody waits any more.
func (s *Service) Watch(p Principal) (ended <-chan struct{}, stop func()) {
	fire := make(chan struct{})
	return fire, s.OnEnd(p, func() { close(fire) })
}

// OnRevoked calls end when the principal's token is revoked: see OnEnd.
func (s *Service) OnRevoked(p Principal, end func()) (stop func()) {
	w := &watch{chain: p.Chain, fire: end}
	r := s.revoked
	r.mu.Lock()
	hit := r.hitsLocked(w.chain)
	if !hit {
		r.watches[w] = struct{}{}
	}
	r.mu.Unlock()
	if hit {
		end()
		return func() {}
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.watches, w)
	}
}

// onExpired calls end when the principal's token expires: see OnEnd.
func (s *Service) onExpired(p Principal, end func()) (stop func()) {
	if p.Expires.IsZero() {
		return func() {}
	}
	timer := time.AfterFunc(p.Expires.Sub(s.now()), end)
	return func() { timer.Stop() }
}

// Load reads what is new in the feeds of revocations and of bindings. A page is read while
// the one before it is taken in: a starting node may have a million to read.
func (s *Service) Load(ctx context.Context) error {
	done := s.head.Reading()
	next := s.readRevoked(ctx, s.revoked.cursor())
	for {
		page := <-next
		if page.err != nil {
			return page.err
		}
		isLast := len(page.news) < revokedAtOnce
		if !isLast {
			next = s.readRevoked(ctx, page.news[revokedAtOnce-1].Feed)
		}
		s.revoked.add(page.news)
		if isLast {
			s.revoked.saw(page.began)
			done()
			return nil
		}
	}
}

// revokedPage is a page of the feed, and when its reading began.
type revokedPage struct {
	news  []Revocation
	began int64
	err   error
}

// readRevoked reads a page of the feed, and all bindings before it.
func (s *Service) readRevoked(ctx context.Context, after int64) <-chan revokedPage {
	read := make(chan revokedPage, 1)
	go func() {
		page := revokedPage{began: s.revoked.clock()}
		if page.err = s.loadBindings(ctx); page.err == nil {
			limited, cancel := context.WithTimeout(ctx, readLimit)
			defer cancel()
			if page.news, page.err = s.store.Revocations(limited, after, revokedAtOnce); page.err != nil {
				page.err = fmt.Errorf("load revocations: %w", page.err)
			}
		}
		read <- page
	}()
	return read
}

const textUnknown = "Whether the token was withdrawn cannot be found out at the moment."

// current makes sure that this node knows the revocations up to a second ago.
// That is nearly always so, and then it is a look at the clock.
func (s *Service) current(ctx context.Context) error {
	need := s.revoked.clock() - int64(knownFor)
	// A reading that others began may have begun too early; the next one did not.
	for s.revoked.asOf.Load() <= need {
		flight := s.flights.DoChan("revocations", func() (any, error) { return nil, s.Load(context.WithoutCancel(ctx)) })
		select {
		case <-ctx.Done():
			return ctx.Err()
		case r := <-flight:
			if r.Err != nil {
				return fault.Wrap(fault.Unavailable, textUnknown, r.Err)
			}
		}
	}
	return nil
}

// Run follows the feed of revocations until the context ends: on a hint, and
// when it has moved, or nobody says whether it has, twice a second in case that a
// hint was lost. It also forgets what has ended.
func (s *Service) Run(ctx context.Context) error {
	if s.hints != nil {
		hints, err := s.hints.Subscribe(hintRevoked, func(bus.Message) { s.look() })
		if err != nil {
			return fmt.Errorf("subscribe to revocations: %w", err)
		}
		defer func() { _ = hints.Unsubscribe() }()
	}
	var sweeper sync.WaitGroup // beside the feed, which must not wait for it
	defer sweeper.Wait()
	sweeper.Go(func() { s.sweep(ctx) })
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		case <-poll.C:
			if s.head.Waits(s.revoked.clock(), s.revoked.asOf.Load()) {
				continue
			}
		}
		s.warn(ctx, s.Load(ctx))
	}
}

// look has Run read the feed.
func (s *Service) look() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// sweep forgets what has ended until the context ends.
func (s *Service) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.warn(ctx, s.sweepEnded(ctx))
		s.warn(ctx, s.sweepRevocations(ctx))
	}
}

// sweepEnded forgets marks and delegations, slice by slice until none is left.
func (s *Service) sweepEnded(ctx context.Context) error {
	for {
		n, err := s.store.Sweep(ctx, s.now().Add(-sweepGrace), sweepPage)
		if err != nil || n < sweepPage {
			return err
		}
	}
}

// sweepRevocations forgets the revocations of tokens that are over, slice by
// slice, in the store and then here. What counts is the time that the store
// applied: a node whose clock was wrong and is set right has forgotten nothing.
func (s *Service) sweepRevocations(ctx context.Context) error {
	for {
		n, applied, err := s.store.SweepRevocations(ctx, s.now().Add(-revocationGrace), sweepPage)
		if err != nil {
			return err
		}
		if n < sweepPage {
			s.revoked.forget(applied)
			return nil
		}
	}
}

func (s *Service) warn(ctx context.Context, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		s.log.LogAttrs(ctx, slog.LevelWarn, "identity worker failed", slog.String("event", "identity.worker_failed"), slog.Any("error", err))
	}
}

// Marks and delegations are kept a little longer than they count, so that nodes
// whose clocks differ agree.
const (
	sweepInterval = time.Minute
	sweepGrace    = time.Hour
	sweepPage     = 500

	// A revocation that is forgotten too early lets somebody in again, so clocks may
	// be wrong by more.
	revocationGrace = 24 * time.Hour
)

// Revoke takes a ucan/revoke invocation: JudgeRevocation and Record in one.
func (s *Service) Revoke(ctx context.Context, text string) (Revocation, error) {
	r, err := s.JudgeRevocation(ctx, text)
	if err != nil {
		return Revocation{}, err
	}
	return s.Record(ctx, r)
}

// JudgeRevocation reads a ucan/revoke invocation: issued to this service by an
// issuer in the chain of the revoked token, with = that issuer, nb.ucan = the
// token, and the token's blocks along as proofs. With nb.issuer = its own DID in
// place of nb.ucan the issuer withdraws everything that it ever signed. The
// service's own key may withdraw anything. It returns what is to be recorded; a
// token that is over anyway is refused.
func (s *Service) JudgeRevocation(ctx context.Context, text string) (Revocation, error) {
	token, err := ucan.Parse(text)
	if err != nil {
		return Revocation{}, refusal(Oracle, err)
	}
	by := token.Leaf.Issuer
	q := s.query(ctx, &lookups{Resolver: s.resolver})
	q.Person = nil // who withdraws what a key signed is the key
	q.Want = &ucan.Want{Can: ucan.RevokeAbility, With: string(by)}
	q.Owner = func(root did.DID, r ucan.Resource) (bool, error) { return string(root) == r.Text, nil }
	if _, err := ucan.Verify(token, q); err != nil {
		return Revocation{}, refusal(Oracle, err)
	}
	withdrawn, err := ucan.RevocationTarget(token, s.cfg.Signer.DID())
	if err != nil {
		return Revocation{}, fault.Wrap(fault.Invalid, "The invocation names no token that its issuer may revoke.", err)
	}
	r := Revocation{Kind: RevokedIssuer, Target: string(withdrawn.Issuer), By: string(by), At: s.now()}
	if u := withdrawn.Token; u != nil {
		r.Kind, r.Target, r.Until = RevokedToken, u.CID(), expiry(u.Expires, u.NoExpiry)
	}
	if !r.Until.IsZero() && r.Until.Before(r.At.Add(-revocationGrace)) {
		return Revocation{}, fault.New(fault.Invalid, "The token has expired: there is nothing to revoke.").WithCode(string(ucan.Expired))
	}
	return r, nil
}

// RevokeByOperator withdraws a token or an issuer without asking its chain: for
// whoever runs the service.
func (s *Service) RevokeByOperator(ctx context.Context, kind RevocationKind, target string) (Revocation, error) {
	return s.Record(ctx, Revocation{Kind: kind, Target: target, By: s.DID(), At: s.now()})
}

// Record keeps a revocation that was judged; doing it again is fine. It counts
// here at once and on the other nodes within a second.
func (s *Service) Record(ctx context.Context, r Revocation) (Revocation, error) {
	r.Target = nameOf(r.Target)
	feed, _, err := s.store.AddRevocation(ctx, r)
	if err != nil {
		return Revocation{}, fmt.Errorf("store revocation: %w", err)
	}
	r.Feed = feed
	// The feed brings it in order; here it counts at once, without moving the cursor.
	s.revoked.add([]Revocation{{Kind: r.Kind, Target: r.Target, Until: r.Until}})
	if s.hints != nil {
		if err := s.hints.Publish(ctx, hintRevoked, nil); err != nil {
			s.log.LogAttrs(ctx, slog.LevelDebug, "revocation hint not sent", slog.Any("error", err))
		}
	}
	return r, nil
}

// CheckRevoked returns those of the CIDs that were withdrawn, in the spelling of
// the question: a token's other spellings are as withdrawn as its name.
func (s *Service) CheckRevoked(ctx context.Context, cids []string) ([]string, error) {
	if err := s.current(ctx); err != nil {
		return nil, err
	}
	revoked := make([]string, 0, len(cids))
	for _, c := range cids {
		if s.revoked.has(nameOf(c), "") {
			revoked = append(revoked, c)
		}
	}
	return revoked, nil
}
