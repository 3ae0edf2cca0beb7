// Package appkey keeps app keys: constant secrets for programs that know nothing
// but a bearer string or a password.
//
// An app key is a record around a delegation that its maker signed to a key which
// only this service holds (the holder, another one for each app key). Whoever presents
// the app key gets what that delegation grants and nothing else: it is verified as
// any token is, so that scope, ownership, membership, revocation and the audit of
// the file store are those of tokens. Withdrawing the delegation, or anything that it
// stands on, ends the app key; revoking the app key withdraws the delegation.
//
// The package promises that an app key is shown once and kept as a hash, that it has
// one spelling, that it ends, that it counts as revoked on every node as soon as the
// revocation was acknowledged, and that what it spent is counted in the database.
//
// It refuses delegations that never end, that are restricted to CIDs, or that grant
// anything but a Scope. App keys open faces: routes that ask for them by name. No
// other route takes one (see identity.AppKeyPrefix).
//
// Decision: ADR 0160.
package appkey

import (
	"context"
	"slices"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
)

// Scope is a kind of face that an app key opens.
type Scope string

// The scopes.
const (
	// Oracle talks to the oracle as the maker: `*` on ixo:oracle.
	Oracle Scope = "oracle"
	// Files reaches the file store: fs/… abilities on a place that the maker may use.
	Files Scope = "files"
	// Knowledge searches and reads what the oracle knows: knowledge/read on ixo:knowledge.
	Knowledge Scope = "knowledge"
	// Any is no scope: a face that asks for it takes every app key, also one whose
	// budget is spent, and gets the principal of one of its scopes.
	Any Scope = ""
)

// The capability of Knowledge.
const (
	KnowledgeAbility  = "knowledge/read"
	KnowledgeResource = "ixo:knowledge"
)

// Amount is what work with a model takes. As a budget, 0 is no limit; a budget that
// is spent closes Oracle and Knowledge, not Files.
type Amount struct {
	Tokens int64 // read and written
	Micros int64 // millionths of a US dollar
}

// Key is what is known of an app key, without the key.
type Key struct {
	ID string
	// Name tells its maker's app keys apart; among those that count it is the only one.
	Name string
	// Maker is the DID that made it and for which it acts.
	Maker string
	// DID is the holder's: what the file store's audit shows.
	DID    string
	Scopes []Scope
	// Budget bounds Spent; what is being answered when it is reached is answered.
	Budget, Spent Amount
	Created       time.Time
	Expires       time.Time
	// Used is when it was last presented, to the minute; zero is never.
	Used time.Time
	// Revoked is zero unless its maker withdrew it.
	Revoked time.Time
	// Delegation is the maker's, encoded; Proof is its CID. Delegation is a secret.
	Delegation, Proof string
}

// String names the key; it shows no secret.
func (k Key) String() string { return k.Name + " (" + k.ID + ")" }

// Has reports whether the key opens faces of the scope.
func (k Key) Has(s Scope) bool { return s == Any || slices.Contains(k.Scopes, s) }

// Left returns what may still be spent, and false where nothing limits it.
func (k Key) Left() (left Amount, limited bool) {
	return Amount{Tokens: max(k.Budget.Tokens-k.Spent.Tokens, 0), Micros: max(k.Budget.Micros-k.Spent.Micros, 0)},
		k.Budget != Amount{}
}

// Exhausted reports whether a budget is spent.
func (k Key) Exhausted() bool {
	return k.Budget.Tokens > 0 && k.Spent.Tokens >= k.Budget.Tokens || k.Budget.Micros > 0 &&
		k.Spent.Micros >= k.Budget.Micros
}

// State says in a word whether the key counts: active, spent, expired or revoked.
func (k Key) State(now time.Time) string {
	switch {
	case !k.Revoked.IsZero():
		return "revoked"
	case !now.Before(k.Expires):
		return "expired"
	case k.Exhausted():
		return "spent"
	}
	return "active"
}

// Access is what an app key opened.
type Access struct {
	Key Key
	// Principal is what a token would have given. For Oracle and Knowledge its DID is
	// the maker's, as when a delegation stands for its issuer. For Files it is the
	// holder's, with the maker's authority at its root, as when an agent acts for
	// somebody: dot-files show only where the delegation reveals them.
	Principal identity.Principal
}

// Authenticator is what a face needs of this package; *Service is one.
type Authenticator interface {
	// Authenticate turns the text of an app key into what it opens. Errors are faults:
	// Unauthenticated for a key that is wrong, revoked or expired, Forbidden for one
	// without the scope or whose maker may not come in, PaymentRequired when its budget
	// is spent, Unavailable when nobody can tell.
	Authenticate(ctx context.Context, scope Scope, text string) (Access, error)
	// AuthenticateAgent turns it into everything that it opens: for the address that serves
	// all scopes. One whose budget is spent opens the files alone.
	AuthenticateAgent(ctx context.Context, text string) (Key, identity.Agent, error)
}

// Codes of refusals, for machines.
const (
	CodeUnknown = "app_key_unknown"
	CodeRevoked = "app_key_revoked"
	CodeExpired = "app_key_expired"
	CodeScope   = "app_key_scope"
	CodeBudget  = "app_key_budget"
	// CodeCIDs is for tokens, not for app keys: see RefuseCIDs.
	CodeCIDs = "token_restricted_to_cids"
)

// ErrUnknown is the answer to a text that is no app key of this deployment.
var ErrUnknown = fault.New(fault.Unauthenticated, "This app key is not known here: it was mistyped, or ended long ago.").WithCode(CodeUnknown)

// RefuseCIDs is asked by every face about a token that it took: one that is
// restricted to CIDs opens the routes that read by CID, and no face.
func RefuseCIDs(p identity.Principal) error {
	if p.CIDs == nil {
		return nil
	}
	return fault.New(fault.Forbidden, "The token is restricted to CIDs: it opens the file store and /mcp, not this route.").WithCode(CodeCIDs)
}

type contextKey struct{}

// WithKey returns a context that carries the app key of a request.
func WithKey(ctx context.Context, k Key) context.Context {
	return context.WithValue(ctx, contextKey{}, k)
}

// FromContext returns the app key by which a request came in, and false when it
// came with a token.
func FromContext(ctx context.Context) (Key, bool) {
	k, ok := ctx.Value(contextKey{}).(Key)
	return k, ok
}
