package appkey

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

const (
	// MaxLife is how long an app key may last.
	MaxLife = 366 * 24 * time.Hour
	// clockSkew is how far a maker's clock may be ahead.
	clockSkew = 5 * time.Minute
	// touchEvery is how coarse the last use is.
	touchEvery = time.Minute
	// touchTime bounds writing it down.
	touchTime = 5 * time.Second

	idLength = 16
	maxName  = 40
	// maxDelegation is room for a chain of a dozen grants. It is read for every request.
	maxDelegation = 32 << 10
	maxBudget     = 1_000_000_000_000_000 // so that no sum overflows
	listLimit     = 500
)

// Deps are the parts that the service works with.
type Deps struct {
	Store    Store
	Identity *identity.Service
	// Secret is what holders are derived from: the same on every node, for ever.
	Secret []byte
	Logger *slog.Logger
	Now    func() time.Time // nil is time.Now
}

// Service makes, lists, revokes and recognises app keys. Its methods may be called
// from many goroutines.
type Service struct {
	deps Deps
}

var _ Authenticator = (*Service)(nil)

// New returns a service.
func New(d Deps) (*Service, error) {
	if d.Store == nil || d.Identity == nil || len(d.Secret) < 32 {
		return nil, errors.New("appkey: a store, identity and a secret of 32 bytes are needed")
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	return &Service{deps: d}, nil
}

// Now is the time by which keys end.
func (s *Service) Now() time.Time { return s.deps.Now() }

// Offer is what a maker has to know before signing: the id of the app key to be, and
// the holder's DID, to which the delegation must be addressed. Nothing is stored.
type Offer struct{ ID, Holder string }

// Offer begins an app key.
func (s *Service) Offer() (Offer, error) {
	id := strings.ToLower(rand.Text()[:idLength])
	holder, err := s.holder(id)
	return Offer{ID: id, Holder: string(holder.DID())}, err
}

// holder returns the key that holds the delegation of an app key. It is derived, so
// that it is stored nowhere and every node has it.
func (s *Service) holder(id string) (did.Signer, error) {
	mac := hmac.New(sha256.New, s.deps.Secret)
	mac.Write([]byte("castalia app key holder " + id))
	signer, err := did.SignerFromSeed(mac.Sum(nil))
	if err != nil {
		return did.Signer{}, fmt.Errorf("derive holder: %w", err)
	}
	return signer, nil
}

// actAs returns what the key is worth at faces of the scope.
func (s *Service) actAs(ctx context.Context, k Key, scope Scope) (identity.Principal, error) {
	return s.deps.Identity.ActFor(ctx, identity.Errand{
		Holder: k.DID, Signer: func() (did.Signer, error) {
			return s.holder(k.ID)
		}, Delegation: k.Delegation, Want: wanted(scope),
	})
}

// NewKey asks for an app key.
type NewKey struct {
	// ID is of an Offer, Delegation the maker's to its holder.
	ID, Name, Delegation string
	Budget               Amount
}

// Make stores an app key and returns its text, which is kept nowhere. What it may do
// and when it ends is what the delegation says; the caller must have signed it, and
// it must hold now.
func (s *Service) Make(ctx context.Context, caller identity.Principal, n NewKey) (Key, string, error) {
	if err := n.check(); err != nil {
		return Key{}, "", err
	}
	token, err := ucan.Parse(n.Delegation)
	if err != nil {
		return Key{}, "", badDelegation("it cannot be read", err)
	}
	holder, err := s.holder(n.ID)
	if err != nil {
		return Key{}, "", err
	}
	leaf := token.Leaf
	switch {
	case !caller.Signs(leaf.Issuer):
		return Key{}, "", badDelegation("its issuer is not the authenticated user", nil)
	case leaf.Audience != holder.DID():
		return Key{}, "", badDelegation("its audience is not the holder that was offered for this id", nil)
	}
	scopes, err := scopesOf(leaf)
	if err != nil {
		return Key{}, "", err
	}
	now := s.deps.Now()
	k := Key{
		ID: n.ID, Name: n.Name, Maker: caller.DID, DID: string(holder.DID()), Scopes: scopes, Budget: n.Budget, Created: now,
		Delegation: token.Encode(), Proof: token.CID(),
	}
	if k.Expires, err = s.holdsUntil(ctx, k); err != nil {
		return Key{}, "", err
	}
	if k.Expires.IsZero() || k.Expires.After(now.Add(MaxLife+clockSkew)) {
		return Key{}, "", fault.Newf(fault.Invalid, "An app key lasts at most %d days: the delegation must expire before that.", MaxLife/(24*time.Hour)).WithCode("app_key_life")
	}
	text := newText()
	if err := s.deps.Store.AddKey(ctx, k, digestOf(text)); err != nil {
		return Key{}, "", fmt.Errorf("add app key: %w", err)
	}
	return k, text, nil
}

// holdsUntil verifies the delegation for each of the scopes and returns when the
// first of them ends.
func (s *Service) holdsUntil(ctx context.Context, k Key) (until time.Time, err error) {
	for _, scope := range k.Scopes {
		p, err := s.actAs(ctx, k, scope)
		if err != nil {
			return time.Time{}, err
		}
		if p.CIDs != nil {
			return time.Time{}, fault.New(fault.Forbidden, "An app key cannot be restricted to CIDs: share those files by a link instead.").WithCode(CodeCIDs)
		}
		if scope == Files {
			if err := coversAll(p, k); err != nil {
				return time.Time{}, err
			}
		}
		if until.IsZero() || !p.Expires.IsZero() && p.Expires.Before(until) {
			until = p.Expires
		}
	}
	return until, nil
}

// coversAll refuses a delegation of which only some file capabilities hold: its maker
// would believe in the others.
func coversAll(p identity.Principal, k Key) error {
	for _, c := range k.Capabilities() {
		if strings.HasPrefix(c.Can, "fs/") && !p.Allows(c.Can, c.With) {
			return fault.Newf(fault.Forbidden, "You may not grant %s on %s.", c.Can, c.With).WithCode(string(ucan.UnauthorizedRoot))
		}
	}
	_, _, err := p.Areas("fs/list") // of one namespace
	return err
}

// Capabilities are what the key grants, as its maker wrote it.
func (k Key) Capabilities() []ucan.Capability {
	token, err := ucan.Parse(k.Delegation)
	if err != nil {
		return nil
	}
	return token.Leaf.Capabilities
}

func (n NewKey) check() error {
	const nameRule = "name must be 1 to 40 lower-case letters, digits, dots, dashes and underscores, beginning with a letter or digit"
	switch {
	case len(n.ID) != idLength || strings.Trim(n.ID, "abcdefghijklmnopqrstuvwxyz234567") != "":
		return fault.New(fault.Invalid, "id must be one that was offered")
	case n.Name == "" || len(n.Name) > maxName || strings.Trim(n.Name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" ||
		strings.ContainsRune("-_.", rune(n.Name[0])):
		return fault.New(fault.Invalid, nameRule)
	case len(n.Delegation) > maxDelegation:
		return fault.Newf(fault.Invalid, "delegation must be at most %d bytes long", maxDelegation)
	case n.Budget.Tokens < 0 || n.Budget.Tokens > maxBudget || n.Budget.Micros < 0 || n.Budget.Micros > maxBudget:
		return fault.New(fault.Invalid, "a budget must not be less than 0 or more than a thousand million million")
	}
	return nil
}

func badDelegation(why string, cause error) error {
	return fault.Wrap(fault.Invalid, "Invalid delegation: "+why, cause).WithCode("invalid_delegation")
}

// scopesOf reads the scopes off the capabilities. One that is none of them is
// refused: nobody would see it in a list of app keys.
func scopesOf(leaf *ucan.UCAN) ([]Scope, error) {
	var scopes []Scope
	for _, c := range leaf.Capabilities {
		r, err := ucan.ParseResource(c.With)
		if err != nil {
			return nil, badDelegation("a resource cannot be read", err)
		}
		var scope Scope
		switch {
		case r.Unsafe():
		case c.With == identity.OracleResource && c.Can == ucan.AnyAbility:
			scope = Oracle
		case c.With == KnowledgeResource && c.Can == KnowledgeAbility:
			scope = Knowledge
		case r.File && slices.Contains([]string{"fs/list", "fs/read", "fs/write", "fs/delete", "fs/*"}, c.Can):
			scope = Files
		}
		if scope == Any {
			return nil, badDelegation(fmt.Sprintf("an app key cannot carry %.40q on %.120q", c.Can, c.With), nil)
		}
		if !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	if len(scopes) == 0 {
		return nil, badDelegation("it grants nothing", nil)
	}
	slices.Sort(scopes)
	return scopes, nil
}

// CapabilityOf returns what a delegation has to say for a scope that is no place.
func CapabilityOf(s Scope) ucan.Capability {
	if s == Knowledge {
		return ucan.NewCapability(KnowledgeAbility, KnowledgeResource, ipld.Node{})
	}
	return ucan.NewCapability(ucan.AnyAbility, identity.OracleResource, ipld.Node{})
}

// wanted is what a face of the scope needs; nil is whatever the file store grants.
func wanted(s Scope) *ucan.Want {
	switch s {
	case Oracle:
		return &ucan.Want{Can: ucan.AnyAbility, With: identity.OracleResource}
	case Knowledge:
		return &ucan.Want{Can: KnowledgeAbility, With: KnowledgeResource}
	case Files, Any:
	}
	return nil
}

// List returns the maker's app keys, the newest first. One whose delegation was
// withdrawn elsewhere is revoked, whatever its record says.
func (s *Service) List(ctx context.Context, maker string) ([]Key, error) {
	list, err := s.deps.Store.Keys(ctx, maker, listLimit)
	if err != nil {
		return nil, err
	}
	now := s.deps.Now()
	for i := range list {
		if k := &list[i]; k.Revoked.IsZero() && now.Before(k.Expires) {
			withdrawn, err := s.deps.Identity.Withdrawn(ctx, k.Delegation)
			if err != nil {
				return nil, err
			}
			if withdrawn {
				k.Revoked = now
			}
		}
	}
	return list, nil
}

// Revoke ends an app key of the maker; doing it again is fine. The delegation is
// withdrawn first: when the process dies in between, the key has ended all the same.
func (s *Service) Revoke(ctx context.Context, maker, id string) (Key, error) {
	k, ok, err := s.deps.Store.Key(ctx, maker, id)
	if err != nil {
		return Key{}, err
	}
	if !ok {
		return Key{}, fault.New(fault.NotFound, "You have no such app key.")
	}
	if !k.Revoked.IsZero() {
		return k, nil
	}
	k.Revoked = s.deps.Now()
	if err := s.deps.Identity.Withdraw(ctx, k.Delegation, maker); err != nil {
		return Key{}, err
	}
	return k, s.deps.Store.RevokeKey(ctx, maker, id, k.Revoked)
}

// Authenticate implements Authenticator. The record is read each time: that makes a
// revocation count on every node when it is acknowledged, and shows what was spent.
func (s *Service) Authenticate(ctx context.Context, scope Scope, text string) (Access, error) {
	k, now, err := s.recognise(ctx, text)
	if err != nil {
		return Access{}, err
	}
	as := scope
	if as == Any {
		as = k.Scopes[0]
	}
	switch {
	case !k.Has(scope):
		return Access{}, fault.Newf(fault.Forbidden, "The app key %q is not for this: it has the scope %s, and this needs %s.", k.Name, list(k.Scopes), scope).WithCode(CodeScope)
	case scope != Any && k.closed(scope):
		return Access{}, errSpent(k)
	}
	p, err := s.actAs(ctx, k, as)
	if err != nil {
		return Access{}, ended(err)
	}
	s.touch(ctx, k, now)
	return Access{Key: k, Principal: p}, nil
}

// AuthenticateAgent implements Authenticator.
func (s *Service) AuthenticateAgent(ctx context.Context, text string) (Key, identity.Agent, error) {
	k, now, err := s.recognise(ctx, text)
	if err != nil {
		return Key{}, identity.Agent{}, err
	}
	var a identity.Agent
	for _, scope := range k.Scopes {
		if k.closed(scope) {
			err = errSpent(k)
			continue
		}
		p, refused := s.actAs(ctx, k, scope)
		if refused != nil {
			return Key{}, identity.Agent{}, ended(refused)
		}
		switch scope {
		case Files:
			a.Files = &p
		case Oracle:
			a.Oracle = &p
		case Knowledge:
			a.Knowledge = &p
		case Any:
		}
	}
	if _, open := a.Principal(); !open {
		return Key{}, identity.Agent{}, err
	}
	s.touch(ctx, k, now)
	return k, a, nil
}

// closed reports whether what is spent closes faces of the scope: files take no model.
func (k Key) closed(scope Scope) bool { return scope != Files && k.Exhausted() }

// recognise finds the app key of a text, if it counts.
func (s *Service) recognise(ctx context.Context, text string) (Key, time.Time, error) {
	now := s.deps.Now()
	if !wellFormed(text) {
		return Key{}, now, ErrUnknown
	}
	k, ok, err := s.deps.Store.KeyByDigest(ctx, digestOf(text))
	switch {
	case err != nil:
		return Key{}, now, fault.Wrap(fault.Unavailable, "Whether the app key counts cannot be found out at the moment.", err)
	case !ok:
		return Key{}, now, ErrUnknown
	case !k.Revoked.IsZero():
		return Key{}, now, errRevoked
	case !now.Before(k.Expires):
		return Key{}, now, errExpired
	}
	return k, now, nil
}

var (
	errRevoked = fault.New(fault.Unauthenticated, "The app key was revoked.").WithCode(CodeRevoked)
	errExpired = fault.New(fault.Unauthenticated, "The app key has expired.").WithCode(CodeExpired)
)

func errSpent(k Key) error {
	return fault.Newf(fault.PaymentRequired, "The budget of the app key %q is spent.", k.Name).WithCode(CodeBudget)
}

// ended says of a delegation that does not hold any more what that means to whoever
// has only the app key.
func ended(err error) error {
	switch ucan.ReasonOf(err) {
	case ucan.Revoked:
		return errRevoked
	case ucan.Expired:
		return errExpired
	}
	return err
}

func list(scopes []Scope) string {
	words := make([]string, len(scopes))
	for i, s := range scopes {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}

// touch notes a use, at most once a minute. That it could not be noted is no reason
// to refuse anybody.
func (s *Service) touch(ctx context.Context, k Key, now time.Time) {
	if now.Sub(k.Used) < touchEvery {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), touchTime)
	defer cancel()
	if err := s.deps.Store.TouchKey(ctx, k.ID, now, now.Add(-touchEvery)); err != nil {
		s.deps.Logger.LogAttrs(ctx, slog.LevelDebug, "the use of an app key was not noted", slog.String("id", k.ID), slog.Any("error", err))
	}
}

// Reserve sets aside, before a piece of work, what it may cost, so that works side by
// side do not overspend a budget together. Of the last of a budget less is held than
// was wanted. It refuses when nothing is left; whether the key still counts is not
// asked: it was let in. What is held stays spent until it is settled: a node that dies
// in between gives nothing away.
func (s *Service) Reserve(ctx context.Context, maker, id string, want Amount) (held Amount, err error) {
	held, ok, err := s.deps.Store.ReserveKey(ctx, maker, id, bounded(want))
	if err != nil {
		return Amount{}, err
	}
	if !ok {
		k, _, err := s.deps.Store.Key(ctx, maker, id)
		if err != nil {
			return Amount{}, err
		}
		return Amount{}, errSpent(k)
	}
	return held, nil
}

// Settle counts what was done for an app key in place of what was held for it, also
// when the key is over by now. It is called once for each piece of work, after it.
func (s *Service) Settle(ctx context.Context, id string, held, used Amount) error {
	used = bounded(used)
	rest := Amount{Tokens: used.Tokens - held.Tokens, Micros: used.Micros - held.Micros}
	if rest == (Amount{}) {
		return nil
	}
	return s.deps.Store.ChargeKey(ctx, id, rest)
}

func bounded(a Amount) Amount {
	return Amount{Tokens: min(max(a.Tokens, 0), maxBudget), Micros: min(max(a.Micros, 0), maxBudget)}
}
