package identity

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// The texts that clients compare.
const (
	TextMissing = "Missing UCAN authentication: provide Authorization: Bearer <invocation> with X-Auth-Type: ucan, " +
		"or an x-ucan-delegation header"
	TextInvalid           = "Invalid UCAN invocation"
	TextMissingBearer     = "Missing UCAN authentication: provide Authorization: Bearer <UCAN>"                              //nolint:gosec // no credential
	TextMissingInvocation = "Missing UCAN authentication: provide Authorization: Bearer <invocation> with X-Auth-Type: ucan" //nolint:gosec // no credential
	textForbidden         = "The token does not grant access to this resource."
	textNarrow            = "The token is for some content only."
	textUnavailable       = "The owner of the namespace cannot be resolved at the moment."
)

// CodeNoLogin is the code of a refusal of a delegation that is good, and for
// something else than the oracle.
const CodeNoLogin = "delegation_not_for_oracle"

// The capability that proves who calls an oracle, and the one that opens a
// gated query gateway.
const (
	OracleResource = "ixo:oracle"
	QueryResource  = "ixo:query"
	QueryAbility   = "query/read"
)

// clockSkew is how far a client's clock may be ahead when it mints a token of
// exactly the longest lifetime.
const clockSkew = 5 * time.Second

// Authenticate turns credentials into a principal by the rules of the surface.
// Errors are faults: Unauthenticated with the document's text and the reason as
// code, Forbidden when the token is good but grants nothing here, Unavailable
// when an owner cannot be looked up, or what was withdrawn. Whoever is verified still
// has to pass the Door.
func (s *Service) Authenticate(ctx context.Context, surface Surface, c Credentials) (Principal, error) {
	p, err := s.identify(ctx, surface, c)
	if err != nil {
		return Principal{}, err
	}
	return s.enter(ctx, surface, p)
}

// identify says who is asking, not whether they may come in.
func (s *Service) identify(ctx context.Context, surface Surface, c Credentials) (Principal, error) {
	if IsAppKey(c.Bearer) {
		return Principal{}, errAppKey
	}
	if c.Bearer != "" || c.Delegation != "" {
		if err := s.current(ctx); err != nil {
			return Principal{}, err
		}
	}
	switch surface {
	case Oracle:
		return s.authenticateOracle(ctx, c)
	case Entrance, Operators:
		if c.Bearer == "" || !strings.EqualFold(c.AuthType, "ucan") {
			return Principal{}, fault.New(fault.Unauthenticated, TextMissingInvocation)
		}
	case Files, MCP, Query:
	}
	if c.Bearer == "" {
		return Principal{}, fault.New(fault.Unauthenticated, TextMissingBearer)
	}
	return s.verified(ctx, surface, c.Bearer, c.From)
}

// authenticateOracle applies the header rules: the bearer counts only beside
// X-Auth-Type: ucan; an invalid invocation is not rescued by a delegation; a
// delegation alone is a fallback, and one that is bad or for something else
// (logsIn) counts as none.
func (s *Service) authenticateOracle(ctx context.Context, c Credentials) (Principal, error) {
	if c.Bearer != "" && strings.EqualFold(c.AuthType, "ucan") {
		p, err := s.verified(ctx, Oracle, c.Bearer, c.From)
		if err != nil {
			return Principal{}, err
		}
		if c.Delegation != "" {
			d, err := s.verifiedDelegation(ctx, c.Delegation, c.From)
			switch {
			case fault.Is(err, fault.RateLimited): // nobody knows yet what it is worth
				return Principal{}, err
			case err == nil && d.DID == p.DID: // one of somebody else is ignored, not an error
				p.Delegation = c.Delegation
			}
		}
		return p, nil
	}
	if c.Delegation != "" && !s.cfg.RefuseBareDelegation {
		p, err := s.verifiedDelegation(ctx, c.Delegation, c.From)
		if err == nil && p.logsIn {
			p.Delegation = c.Delegation
			return p, nil
		}
		if err == nil {
			return Principal{}, fault.New(fault.Unauthenticated, TextMissing).WithCode(CodeNoLogin)
		}
		if fault.Is(err, fault.RateLimited) {
			return Principal{}, err
		}
		s.log.LogAttrs(ctx, slog.LevelDebug, "delegation refused", slog.String("reason", string(ucan.ReasonOf(err))))
		return Principal{}, fault.Wrap(fault.Unauthenticated, TextMissing, err).WithCode(string(ucan.ReasonOf(err)))
	}
	return Principal{}, fault.New(fault.Unauthenticated, TextMissing)
}

// verified returns the principal of a bearer token, from the cache when it can:
// nearly always, and then without making anything.
func (s *Service) verified(ctx context.Context, surface Surface, token string, from netip.Addr) (Principal, error) {
	key := cacheKey(byte(surface), token)
	if p, ok := s.recall(key); ok {
		return p, nil
	}
	return s.once(ctx, key, token, from, func(ctx context.Context, l *lookups) (Principal, bool, error) {
		return s.verify(ctx, surface, token, l)
	})
}

func (s *Service) verifiedDelegation(ctx context.Context, token string, from netip.Addr) (Principal, error) {
	key := cacheKey(delegationKey, token)
	if p, ok := s.recall(key); ok {
		return p, nil
	}
	return s.once(ctx, key, token, from, func(ctx context.Context, l *lookups) (Principal, bool, error) {
		return s.verifyDelegation(ctx, token, l)
	})
}

const delegationKey = 0xff

// tokenHash names a token and the rules by which it was judged.
type tokenHash [sha256.Size]byte

func cacheKey(kind byte, token string) tokenHash {
	var room [2048]byte // for tokens of the usual size there is no copy on the heap
	sum := tokenHash(sha256.Sum256(append(room[:0], token...)))
	sum[0] ^= kind // a token on two surfaces has two verdicts
	return sum
}

// recall returns the verdict on a token that is known and still holds.
func (s *Service) recall(key tokenHash) (Principal, bool) {
	p, ok := s.cache.Get(key, s.now())
	if !ok || s.revoked.hits(p.Chain) {
		return Principal{}, false
	}
	s.counts.recalled.Add(1)
	return p, true
}

// once verifies a token: concurrent first uses from one network verify once. Not
// those of different ones: who queues at the gate queues for itself.
func (s *Service) once(
	ctx context.Context, key tokenHash, token string, from netip.Addr,
	verify func(context.Context, *lookups) (Principal, bool, error),
) (Principal, error) {
	if was, known := s.over.Get(key, s.now()); known && was.keys == s.revoked.bound() {
		return Principal{}, was.verdict
	}
	flight := s.flights.DoChan(string(key[:])+ratelimit.NetworkOf(from).String(), func() (any, error) {
		// The verdict is for everyone who waits, so one caller's departure does
		// not spoil it; only the time limit does.
		ctx := context.WithoutCancel(ctx)
		if _, good := s.past.Get(key, s.now()); good {
			from = netip.Addr{} // what was good once is no attack, and waits for nobody's
		}
		turn, err := s.gate.Enter(ctx, from)
		if err != nil {
			return Principal{}, err
		}
		defer turn.Leave()
		limited, cancel := context.WithTimeout(ctx, verifyLimit)
		defer cancel()
		asks := &lookups{Resolver: s.resolver, turn: turn, gate: s.asking, from: from}
		keys := s.revoked.bound()
		p, lasting, err := verify(limited, asks)
		if err != nil {
			s.counts.refused.Add(1)
			if asks.asked == 0 { // else somebody else's answer may change it
				s.rememberEnd(key, ending{err, keys})
			}
			return p, err
		}
		s.counts.verified.Add(1)
		s.cache.Put(key, p, s.keepUntil(p, lasting), memoryOf(token))
		s.past.Put(key, struct{}{}, time.Time{}, 1)
		return p, nil
	})
	select {
	case <-ctx.Done():
		return Principal{}, ctx.Err()
	case r := <-flight:
		if r.Err != nil {
			return Principal{}, r.Err
		}
		p, _ := r.Val.(Principal)
		return p, nil
	}
}

// Of how many tokens a node remembers that they were good, and that they will
// never be again.
const (
	maxPast = 1 << 16
	maxOver = 1 << 14
)

// overFor is how long a node answers from memory that a token is over.
const overFor = time.Minute

// ending is a verdict that stays what it is while keys are bound as they are: a binding
// can be undone, and what a lost key signed counts again then.
type ending struct {
	verdict error
	keys    *bindings
}

// rememberEnd notes a verdict that does not change any more. A page that goes on
// asking with a token that has expired then costs no verification.
func (s *Service) rememberEnd(key tokenHash, e ending) {
	switch ucan.ReasonOf(e.verdict) {
	case ucan.Expired, ucan.Revoked:
		s.over.Put(key, e, s.now().Add(overFor), 1)
	}
}

// verifyLimit bounds one verification with all its look-ups.
const verifyLimit = 10 * time.Second

// memoryOf estimates what remembering a token takes: its decoded blocks, which
// its texts are parts of, its set of CIDs, and the entry itself.
func memoryOf(token string) int { return 1024 + 3*len(token) }

// resolvedTTL bounds how long a verdict that depends on looked-up keys lives.
const resolvedTTL = time.Minute

func (s *Service) keepUntil(p Principal, lasting bool) time.Time {
	until := p.Expires
	if limit := s.now().Add(resolvedTTL); !lasting && (until.IsZero() || until.After(limit)) {
		until = limit
	}
	return until
}

// query returns what every verification has in common.
func (s *Service) query(ctx context.Context, from *lookups) ucan.Query {
	return ucan.Query{
		Audience: s.cfg.Signer.DID(),
		Now:      s.now(),
		Keys:     func(d did.DID) ([]did.Key, error) { return from.Keys(ctx, d) },
		Person:   s.revoked.bound().person,
		Revoked:  s.revoked.has,
		Authority: ucan.Authority{
			DID: s.cfg.Signer.DID(), Key: s.cfg.Signer.Key(),
		},
	}
}

// oracleQuery is the query of an invocation that proves who calls the oracle.
func (s *Service) oracleQuery(ctx context.Context, from *lookups) ucan.Query {
	q := s.query(ctx, from)
	q.Want = &ucan.Want{Can: ucan.AnyAbility, With: OracleResource}
	q.MaxTTL = s.cfg.AuthMaxTTL + clockSkew
	return q
}

// verify checks a bearer token by the rules of the surface. The second result
// tells that the verdict lasts as long as the token.
func (s *Service) verify(ctx context.Context, surface Surface, text string, from *lookups) (Principal, bool, error) {
	token, err := ucan.Parse(text)
	if err != nil {
		return Principal{}, false, refusal(surface, err)
	}
	q := s.query(ctx, from)
	switch surface {
	case Oracle, Entrance:
		q = s.oracleQuery(ctx, from)
	case Files, MCP:
		q.Owner = s.owner(ctx, from)
		if surface == MCP {
			q.MaxTTL = s.cfg.MCPMaxTTL + clockSkew
		}
	case Operators:
		q.MaxTTL = s.cfg.AuthMaxTTL + clockSkew
	case Query:
	}
	r, err := ucan.Verify(token, q)
	if err != nil {
		return Principal{}, false, refusal(surface, err)
	}
	p := principalOf(token, r)
	if (surface == Oracle || surface == Entrance || surface == Operators) && p.CIDs != nil {
		// Whoever narrowed a token to some content did not mean everything that is theirs.
		return Principal{}, false, fault.New(fault.Forbidden, textNarrow).WithCode("token_is_narrow")
	}
	if surface == Query && !p.Allows(QueryAbility, QueryResource) && !p.Allows(ucan.AnyAbility, OracleResource) {
		return Principal{}, false, fault.New(fault.Forbidden, textForbidden).WithCode(string(ucan.AbilityMismatch))
	}
	return p, from.asked == 0, nil
}

func (s *Service) verifyDelegation(ctx context.Context, text string, from *lookups) (Principal, bool, error) {
	token, err := ucan.Parse(text)
	if err != nil {
		return Principal{}, false, err
	}
	d, err := ucan.VerifyDelegation(token, s.query(ctx, from))
	if err != nil {
		return Principal{}, false, err
	}
	p := Principal{
		DID: string(d.Links[0].Person), Key: string(token.Leaf.Issuer), Root: string(d.Root),
		Kind: ByDelegation, CIDs: d.CIDs,
		Expires: expiry(d.Expires, d.NoExpiry), TokenCID: token.CID(), Chain: d.Links,
		logsIn: logsIn(token.Leaf, d),
	}
	return p, from.asked == 0 && !d.NoExpiry, nil
}

func principalOf(token *ucan.Token, r ucan.Result) Principal {
	p := Principal{
		DID: string(r.Grants[0].Path[0].Person), Key: string(token.Leaf.Issuer), Root: string(r.Grants[0].Root), CIDs: r.CIDs,
		Expires: expiry(r.Expires, r.NoExpiry), TokenCID: token.CID(), Grants: r.Grants, names: namedBy(token.Leaf),
	}
	known := make(map[string]bool, 4)
	for i := range r.Grants {
		g := &r.Grants[i]
		if p.Root == p.DID { // one grant of one's own beside it makes nobody the owner of what is another's
			p.Root = string(g.Root)
		}
		for _, link := range g.Path {
			if !known[link.CID] {
				known[link.CID] = true
				p.Chain = append(p.Chain, link)
			}
		}
		g.Path, g.NB = nil, ipld.Node{}
	}
	return p
}

// maxUnix is the last second of the year 9999, beyond which no text form of a
// time exists.
const maxUnix = 253402300799

func expiry(unix int64, none bool) time.Time {
	if none {
		return time.Time{}
	}
	return time.Unix(min(unix, maxUnix), 0)
}

// refusal gives a verdict the fault of its surface. A token that is good but
// not good enough is Forbidden on surfaces where the resource decides.
func refusal(surface Surface, err error) *fault.Error {
	if e, ok := waited(err); ok {
		return e
	}
	reason := ucan.ReasonOf(err)
	if surface == Oracle || surface == Entrance {
		return fault.Wrap(fault.Unauthenticated, TextInvalid, err).WithCode(string(reason))
	}
	switch reason {
	case ucan.UnauthorizedRoot, ucan.EscalationAbility, ucan.EscalationResource, ucan.AbilityMismatch,
		ucan.ResourceMismatch:
		return fault.Wrap(fault.Forbidden, textForbidden+detail(err), err).WithCode(string(reason))
	case ucan.DIDUnresolved:
		return unresolved(reason, err)
	}
	return fault.Wrap(fault.Unauthenticated, "Invalid UCAN: "+string(reason), err).WithCode(string(reason))
}

// detail says which of the caller's own words are not covered.
func detail(err error) string {
	r, ok := errors.AsType[*ucan.RefusedError](err)
	if !ok || r.Detail == "" {
		return ""
	}
	return " Reason: " + r.Detail + "."
}

// unresolved tells what a while mends from what it does not.
func unresolved(reason ucan.Reason, err error) *fault.Error {
	owner, what := isOwnerFailure(err), "Invalid UCAN: "+string(reason)
	switch {
	case errors.Is(err, ErrNoResolver):
		what = "Accounts and entities cannot be looked up here: the operator of this server has not set DID_RESOLVER_URL."
		if owner {
			return fault.Wrap(fault.Unavailable, what, err).WithCode("no_resolver")
		}
		return fault.Wrap(fault.Unauthenticated, what, err).WithCode("no_resolver")
	case owner && errors.Is(err, ErrUnknownDID):
		return fault.Wrap(fault.Forbidden, textForbidden+detail(err)+" The resolver does not know it.", err).WithCode(string(reason))
	case owner:
		return fault.Wrap(fault.Unavailable, textUnavailable, err).WithCode(string(reason))
	}
	return fault.Wrap(fault.Unauthenticated, what, err).WithCode(string(reason))
}
