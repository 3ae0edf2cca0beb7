package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// Deposit is the body of POST /delegation. The optional fields repeat what the
// token says; a value that contradicts it is refused.
type Deposit struct {
	Raw        string
	Issuer     string
	Audience   string
	Expiration *float64
}

// DelegationStatus tells a user what is stored.
type DelegationStatus struct {
	Authorized bool
	// Expires is zero when the delegation never ends, or there is none.
	Expires time.Time
	// Capabilities are what the delegation says, not what it proves.
	Capabilities []ucan.Capability
}

// StoreDelegation keeps the caller's delegation to this service, after checking
// all of it: signatures, audience, that the caller issued it, and its time. An
// error is Invalid and says what is wrong.
func (s *Service) StoreDelegation(ctx context.Context, caller Principal, d Deposit) (DelegationStatus, error) {
	token, err := ucan.Parse(d.Raw)
	if err != nil {
		return DelegationStatus{}, badDelegation(err)
	}
	leaf := token.Leaf
	v, err := ucan.VerifyDelegation(token, s.query(ctx, &lookups{Resolver: s.resolver}))
	if err != nil {
		return DelegationStatus{}, badDelegation(err)
	}
	switch {
	case s.PersonOf(string(leaf.Issuer)) != caller.DID:
		return DelegationStatus{}, fault.New(fault.Invalid, "Invalid delegation: the issuer is not the authenticated user")
	case d.Issuer != "" && d.Issuer != string(leaf.Issuer):
		return DelegationStatus{}, fault.New(fault.Invalid, "Invalid delegation: issuer contradicts the token")
	case d.Audience != "" && d.Audience != string(leaf.Audience):
		return DelegationStatus{}, fault.New(fault.Invalid, "Invalid delegation: audience contradicts the token")
	case d.Expiration != nil && !saysExpiry(leaf, v, *d.Expiration):
		return DelegationStatus{}, fault.New(fault.Invalid, "Invalid delegation: expiration contradicts the token")
	}
	raw, err := s.sealRaw(caller.DID, token.Encode())
	if err != nil {
		return DelegationStatus{}, err
	}
	stored := StoredDelegation{
		User: caller.DID, Raw: raw, CID: token.CID(),
		Expires: expiry(v.Expires, v.NoExpiry), UpdatedAt: s.now(),
	}
	if err := s.store.PutDelegation(ctx, stored); err != nil {
		return DelegationStatus{}, fmt.Errorf("store delegation: %w", err)
	}
	return DelegationStatus{Authorized: true, Expires: stored.Expires, Capabilities: leaf.Capabilities}, nil
}

// saysExpiry accepts the expiry of the leaf as well as the earliest of its chain.
func saysExpiry(leaf *ucan.UCAN, v ucan.Delegation, said float64) bool {
	if !leaf.NoExpiry && said == float64(leaf.Expires) {
		return true
	}
	return !v.NoExpiry && said == float64(v.Expires)
}

func badDelegation(err error) error {
	reason := ucan.ReasonOf(err)
	return fault.Wrap(fault.Invalid, "Invalid delegation: "+string(reason), err).WithCode(string(reason))
}

// DelegationOf reports whether a usable delegation of the user is stored.
func (s *Service) DelegationOf(ctx context.Context, user string) (DelegationStatus, error) {
	token, stored, ok, err := s.delegation(ctx, user)
	if err != nil || !ok {
		return DelegationStatus{}, err
	}
	return DelegationStatus{Authorized: true, Expires: stored.Expires, Capabilities: token.Leaf.Capabilities}, nil
}

// ForgetDelegation deletes the stored delegation of the user; none is fine.
func (s *Service) ForgetDelegation(ctx context.Context, user string) error {
	if err := s.store.DeleteDelegation(ctx, user); err != nil {
		return fmt.Errorf("forget delegation: %w", err)
	}
	return nil
}

// delegation returns the stored delegation when it still counts.
func (s *Service) delegation(ctx context.Context, user string) (*ucan.Token, StoredDelegation, bool, error) {
	stored, ok, err := s.store.Delegation(ctx, user)
	if err != nil {
		return nil, StoredDelegation{}, false, fmt.Errorf("read delegation: %w", err)
	}
	if !ok || !stored.Expires.IsZero() && !s.now().Before(stored.Expires) {
		return nil, StoredDelegation{}, false, nil
	}
	if err := s.current(ctx); err != nil {
		return nil, StoredDelegation{}, false, err
	}
	if stored.Raw, err = s.openRaw(user, stored.Raw); err != nil {
		return nil, StoredDelegation{}, false, nil //nolint:nilerr // an unreadable record is no delegation
	}
	token, err := ucan.Parse(stored.Raw)
	if err != nil || s.revokedAnywhere(token) {
		return nil, StoredDelegation{}, false, nil //nolint:nilerr // an unreadable record is no delegation
	}
	return token, stored, true, nil
}

// revokedAnywhere reports whether the token or a proof in it was withdrawn.
func (s *Service) revokedAnywhere(t *ucan.Token) bool { return s.revoked.hits(t.Links()) }

// Downstream is a call that this service makes at another one for a user.
type Downstream struct {
	Audience string
	Can      string
	With     string
	NB       ipld.Node
	// TTL is at most an hour; zero is a minute. The token never outlives the delegation.
	TTL time.Duration
}

const (
	downstreamTTL    = time.Minute
	maxDownstreamTTL = time.Hour
)

// Mint returns an invocation of this service for a user, with the user's
// delegation as proof: the one that came with the request, or the stored one.
// Without a delegation that covers the call the fault is Forbidden with code
// delegation_required.
func (s *Service) Mint(ctx context.Context, user Principal, call Downstream) (string, error) {
	proof, err := s.proofFor(ctx, user, call)
	if err != nil {
		return "", err
	}
	ttl := call.TTL
	if ttl <= 0 {
		ttl = downstreamTTL
	}
	expires := s.now().Add(min(ttl, maxDownstreamTTL))
	if leaf := proof.Leaf; !leaf.NoExpiry && leaf.Expires < expires.Unix() {
		expires = time.Unix(leaf.Expires, 0)
	}
	audience, err := did.Parse(call.Audience)
	if err != nil {
		return "", fmt.Errorf("mint for %q: %w", call.Audience, err)
	}
	nonce := ipld.MapNode(ipld.Entry{Key: "nonce", Value: ipld.TextNode(newNonce())})
	token, err := ucan.Issue(s.cfg.Signer, ucan.Statement{
		Audience: audience, Capabilities: []ucan.Capability{ucan.NewCapability(call.Can, call.With, call.NB)},
		Expires: expires, Facts: []ipld.Node{nonce}, Proofs: []*ucan.Token{proof},
	})
	if err != nil {
		return "", fmt.Errorf("mint invocation: %w", err)
	}
	return token.Encode(), nil
}

// usable reports whether a delegation from the user to this service still counts.
func (s *Service) usable(t *ucan.Token, user string) bool {
	leaf := t.Leaf
	return s.PersonOf(string(leaf.Issuer)) == user && leaf.Audience == s.cfg.Signer.DID() &&
		(leaf.NoExpiry || leaf.Expires > s.now().Unix()) && !s.revokedAnywhere(t)
}

// errNotDelegated refuses a call that the user's delegation does not cover.
var errNotDelegated = fault.New(fault.Forbidden, "The user has not delegated this to the oracle.").WithCode("delegation_required")

func (s *Service) proofFor(ctx context.Context, user Principal, call Downstream) (*ucan.Token, error) {
	want, err := ucan.ParseResource(call.With)
	if err != nil {
		return nil, fmt.Errorf("mint for %q: %w", call.With, err)
	}
	// Our signature alone opens what is ours: then the user's delegation must prove the call by itself,
	// since whoever verifies the invocation asks for no proof.
	ours, err := owns(ctx, &lookups{Resolver: s.resolver}, s.cfg.Signer.DID(), want)
	switch {
	case errors.Is(err, ErrUnknownDID), errors.Is(err, ErrNoResolver):
		return nil, errNotDelegated
	case err != nil:
		return nil, fault.Wrap(fault.Unavailable, textUnavailable, err)
	}
	ours = ours && !want.Personal()
	candidates, err := s.delegations(ctx, user)
	if err != nil {
		return nil, err
	}
	// Whoever was told what a delegation says, and claims that, means the delegation that says it:
	// another one may cover the same by less content.
	exact := func(t *ucan.Token) bool {
		return slices.ContainsFunc(t.Leaf.Capabilities, func(c ucan.Capability) bool {
			return c.Can == call.Can && c.With == call.With && ipld.Equal(c.NB, call.NB)
		})
	}
	slices.SortStableFunc(candidates, func(a, b *ucan.Token) int {
		switch {
		case exact(a) && !exact(b):
			return -1
		case exact(b) && !exact(a):
			return 1
		}
		return 0
	})
	for _, token := range candidates {
		for _, c := range token.Leaf.Capabilities {
			granted, err := ucan.ParseResource(c.With)
			if err == nil && ucan.AbilityCovers(c.Can, call.Can) && granted.Covers(want) &&
				(!ours || s.proves(ctx, token, call)) {
				return token, nil
			}
		}
	}
	return nil, errNotDelegated
}

// delegations are those of a user that count, the request's own first. The stored one is
// no part of what somebody gets who holds another one and nothing else (ADR 0270).
func (s *Service) delegations(ctx context.Context, user Principal) ([]*ucan.Token, error) {
	var out []*ucan.Token
	if user.bare {
		return out, nil
	}
	if user.Delegation != "" {
		if err := s.current(ctx); err != nil {
			return nil, err
		}
		// It was verified when it came in; a long run may have outlived it.
		token, err := ucan.Parse(user.Delegation)
		if err != nil {
			return nil, fmt.Errorf("read delegation: %w", err)
		}
		if s.usable(token, user.DID) {
			out = append(out, token)
		}
		if !user.InPerson() {
			return out, nil
		}
	}
	stored, _, ok, err := s.delegation(ctx, user.DID)
	if err != nil {
		return nil, err
	}
	if ok {
		out = append(out, stored)
	}
	return out, nil
}

// Granted returns what a user's delegations to this service say, the request's own first.
func (s *Service) Granted(ctx context.Context, user Principal) ([]ucan.Capability, error) {
	tokens, err := s.delegations(ctx, user)
	if err != nil {
		return nil, err
	}
	var out []ucan.Capability
	for _, token := range tokens {
		out = append(out, token.Leaf.Capabilities...)
	}
	return out, nil
}

// proves reports whether a delegation grants the call by the word of an owner of its files.
func (s *Service) proves(ctx context.Context, token *ucan.Token, call Downstream) bool {
	from := &lookups{Resolver: s.resolver}
	q := s.query(ctx, from)
	q.Want = &ucan.Want{Can: call.Can, With: call.With}
	q.Owner = s.owner(ctx, from)
	_, err := ucan.Verify(token, q)
	return err == nil
}
