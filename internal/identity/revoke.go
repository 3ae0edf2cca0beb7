package identity

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"sync/atomic"
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

const pollPage = 1000

// knownFor is how long what a node has read of the feed is good for. It is the
// promise that a revocation counts everywhere after a second, also on a node that
// stood still or could not read: such a one looks first.
const knownFor = time.Second

// readLimit bounds one reading of the feed. On a line that went dead it would
// never end.
const readLimit = 3 * time.Second

// revocations is the set of what was withdrawn, and who waits for it.
type revocations struct {
	began time.Time    // the times below count from here
	asOf  atomic.Int64 // when the last reading began that saw the whole feed, in nanoseconds

	mu      sync.RWMutex
	feed    int64
	targets map[string]struct{} // CIDs and DIDs, which never look alike
	watches map[*watch]struct{}
}

type watch struct {
	chain []ucan.Link
	fire  func()
}

func newRevocations() *revocations {
	r := &revocations{began: time.Now(), targets: make(map[string]struct{}), watches: make(map[*watch]struct{})}
	r.asOf.Store(math.MinInt64) // nothing is known yet
	return r
}

// clock does not follow the wall clock, which can be set.
func (r *revocations) clock() int64 { return int64(time.Since(r.began)) }

// saw notes that everything up to a time is known.
func (r *revocations) saw(at int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asOf.Store(max(r.asOf.Load(), at))
}

// has is ucan.Query's Revoked.
func (r *revocations) has(cid string, issuer did.DID) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.hasLocked(cid, string(issuer))
}

func (r *revocations) hasLocked(cid, issuer string) bool {
	if len(r.targets) == 0 {
		return false
	}
	if _, ok := r.targets[cid]; ok {
		return true
	}
	_, ok := r.targets[issuer]
	return ok
}

// hits reports whether a part of the chain was withdrawn.
func (r *revocations) hits(chain []ucan.Link) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.hitsLocked(chain)
}

func (r *revocations) hitsLocked(chain []ucan.Link) bool {
	for i := range chain {
		if r.hasLocked(chain[i].CID, string(chain[i].Issuer)) {
			return true
		}
		if twin := chain[i].Twin; twin != "" && r.hasLocked(twin, "") {
			return true
		}
	}
	return false
}

// add takes news from the feed and wakes the watches that they concern.
func (r *revocations) add(news []Revocation) {
	r.mu.Lock()
	for _, n := range news {
		r.targets[nameOf(n.Target)] = struct{}{}
		r.feed = max(r.feed, n.Feed)
	}
	var hit []*watch
	for w := range r.watches {
		if r.hitsLocked(w.chain) {
			delete(r.watches, w)
			hit = append(hit, w)
		}
	}
	r.mu.Unlock()
	for _, w := range hit {
		w.fire()
	}
}

// nameOf returns the one name of what a revocation or a question is about. Rows
// of earlier releases name a token by the CID under which it then travelled.
func nameOf(target string) string {
	if strings.HasPrefix(target, "did:") {
		return target
	}
	if name, ok := ucan.NameOf(target); ok {
		return name
	}
	return target // nothing that a token could be called
}

func (r *revocations) size() (targets, watches int) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.targets), len(r.watches)
}

func (r *revocations) cursor() int64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.feed
}

// Revoked reports whether a token or its issuer was withdrawn, as far as this
// node knows.
func (s *Service) Revoked(cid, issuer string) bool { return s.revoked.has(cid, did.DID(issuer)) }

// Watch returns a channel that is closed when the principal's token is revoked
// or expires, so that its sockets and streams can be closed too. stop must be
// called when nobody waits any more.
func (s *Service) Watch(p Principal) (ended <-chan struct{}, stop func()) {
	fire := make(chan struct{})
	return fire, s.OnEnd(p, func() { close(fire) })
}

// OnEnd is Watch without a goroutine that waits: end is called once, when the
// principal's token is revoked or expires, unless stop was called before. It
// must not block; it may run before OnEnd returns.
func (s *Service) OnEnd(p Principal, end func()) (stop func()) {
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
	forget := func() (waiting bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		_, waiting = r.watches[w]
		delete(r.watches, w)
		return waiting
	}
	if p.Expires.IsZero() {
		return func() { forget() }
	}
	timer := time.AfterFunc(p.Expires.Sub(s.now()), func() {
		if forget() {
			end()
		}
	})
	return func() {
		timer.Stop()
		forget()
	}
}

// Load reads what is new in the feed of revocations.
func (s *Service) Load(ctx context.Context) error {
	for {
		began := s.revoked.clock()
		limited, cancel := context.WithTimeout(ctx, readLimit)
		news, err := s.store.Revocations(limited, s.revoked.cursor(), pollPage)
		cancel()
		if err != nil {
			return fmt.Errorf("load revocations: %w", err)
		}
		s.revoked.add(news)
		if len(news) < pollPage {
			s.revoked.saw(began)
			return nil
		}
	}
}

const textUnknown = "Whether the token was withdrawn can not be found out at the moment."

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
// twice a second in case that a hint was lost. It also forgets what has ended.
func (s *Service) Run(ctx context.Context) error {
	wake := make(chan struct{}, 1)
	if s.hints != nil {
		hints, err := s.hints.Subscribe(hintRevoked, func(bus.Message) {
			select {
			case wake <- struct{}{}:
			default:
			}
		})
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
		case <-wake:
		case <-poll.C:
		}
		s.warn(ctx, s.Load(ctx))
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
		_, err := s.store.Sweep(ctx, s.now().Add(-sweepGrace), sweepPage)
		s.warn(ctx, err)
	}
}

func (s *Service) warn(ctx context.Context, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		s.log.LogAttrs(ctx, slog.LevelWarn, "identity worker failed", slog.Any("error", err))
	}
}

// Marks and delegations are kept a little longer than they count, so that nodes
// whose clocks differ agree.
const (
	sweepInterval = time.Minute
	sweepGrace    = time.Hour
	sweepPage     = 500
)

// Revoke takes a ucan/revoke invocation: issued to this service by an issuer in
// the chain of the revoked token, with = that issuer, nb.ucan = the token, and
// the token's blocks along as proofs. With nb.issuer = its own DID in place of
// nb.ucan the issuer withdraws everything that it ever signed. The service's own
// key may withdraw anything. Revoke returns what was revoked; doing it again is
// fine.
func (s *Service) Revoke(ctx context.Context, text string) (Revocation, error) {
	token, err := ucan.Parse(text)
	if err != nil {
		return Revocation{}, refusal(Oracle, err)
	}
	by := token.Leaf.Issuer
	q := s.query(ctx, &lookups{Resolver: s.resolver})
	q.Want = &ucan.Want{Can: ucan.RevokeAbility, With: string(by)}
	q.Owner = func(root did.DID, r ucan.Resource) (bool, error) { return string(root) == r.Text, nil }
	if _, err := ucan.Verify(token, q); err != nil {
		return Revocation{}, refusal(Oracle, err)
	}
	target, err := ucan.RevocationTarget(token, s.cfg.Signer.DID())
	if err != nil {
		return Revocation{}, fault.Wrap(fault.Invalid, "The invocation names no token that its issuer may revoke.", err)
	}
	r := Revocation{Kind: RevokedToken, Target: target, By: string(by), At: s.now()}
	if strings.HasPrefix(target, "did:") {
		r.Kind = RevokedIssuer
	}
	return s.addRevocation(ctx, r)
}

// RevokeByOperator withdraws a token or an issuer without asking its chain: for
// whoever runs the service.
func (s *Service) RevokeByOperator(ctx context.Context, kind RevocationKind, target string) (Revocation, error) {
	return s.addRevocation(ctx, Revocation{Kind: kind, Target: target, By: s.DID(), At: s.now()})
}

func (s *Service) addRevocation(ctx context.Context, r Revocation) (Revocation, error) {
	r.Target = nameOf(r.Target)
	feed, _, err := s.store.AddRevocation(ctx, r)
	if err != nil {
		return Revocation{}, fmt.Errorf("store revocation: %w", err)
	}
	r.Feed = feed
	// The feed brings it in order; here it counts at once, without moving the cursor.
	s.revoked.add([]Revocation{{Kind: r.Kind, Target: r.Target}})
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
