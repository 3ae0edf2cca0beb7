// Package identity decides who is asking and what they may do, once, for every
// surface: HTTP, WebSocket and MCP.
//
// A Credentials value as read from a request or a handshake becomes a Principal
// or a fault with the text that the surface's document demands. Nothing is
// taken from a token before it has been verified; a header that names a DID is
// never believed. Verified tokens are remembered until they expire, and a
// revocation reaches every node within a second, also for connections that are
// already open (Watch).
//
// The package does no HTTP and no SQL: identityhttp reads requests, identitysql
// keeps the records, and resolver looks DIDs up.
//
// Decisions: ADR 0027, ADR 0028, ADR 0146.
package identity

import (
	"cmp"
	"context"
	"log/slog"
	"net/netip"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// Surface is the part of the program that asks, since the rules differ.
type Surface uint8

// The surfaces.
const (
	// Oracle: invocation with X-Auth-Type, or a delegation as a fallback.
	Oracle Surface = iota
	// Files: bearer alone.
	Files
	// MCP: as Files, with a cap on the token's lifetime.
	MCP
	// Query: bearer alone, for deployments that gate the query gateway.
	Query
	// Entrance: an invocation as for Oracle and nothing else, without asking the
	// Door: for those who are about to be let in.
	Entrance
	// Operators: a bearer with X-Auth-Type: ucan that lives as short as one for
	// Oracle, for whomever the Door does not bar. What it opens is for operators to say.
	Operators
)

var surfaceNames = [...]string{"oracle", "files", "mcp", "query", "entrance", "operators"}

// String returns the surface's name, for logs and metric labels.
func (s Surface) String() string {
	if int(s) < len(surfaceNames) {
		return surfaceNames[s]
	}
	return "unknown"
}

// IsOpen reports whether the surface takes people whom the Door does not know.
func (s Surface) IsOpen() bool { return s == Entrance || s == Operators }

// Credentials are what a caller presented, unverified. They are secrets: they
// belong in no log.
type Credentials struct {
	// Bearer is the value after "Bearer " in Authorization, or auth.invocation
	// of a handshake.
	Bearer string
	// AuthType is the value of X-Auth-Type; a handshake passes "ucan".
	AuthType string
	// Delegation is the value of x-ucan-delegation, or auth.ucanDelegation.
	Delegation string
	// From is the client's address, whose time verifying them takes. Credentials
	// without one are nobody's in particular and never wait.
	From netip.Addr
}

// String hides the credentials.
func (Credentials) String() string { return "credentials" }

// Kind is how a principal proved who it is.
type Kind uint8

// The kinds of proof.
const (
	// ByInvocation is a token that the principal signed for this request.
	ByInvocation Kind = iota
	// ByDelegation is the fallback: a delegation to us, which others could hold too.
	ByDelegation
	// ByAppKey is a delegation to a key that we hold, proved by ActFor.
	ByAppKey
)

// Principal is a verified caller. It is immutable and may be shared.
type Principal struct {
	// DID is the verified invoker: the issuer of the outer token, or the person for whom it
	// signs.
	DID string
	// Key is the DID whose key signed the outer token: DID itself, unless a lost key was
	// bound anew (ADR 0256).
	Key string
	// Root is whose authority is used: the end of the chain of proofs. It is the DID itself
	// only when no grant is by anybody else's.
	Root string
	Kind Kind
	// Grants are the capabilities of the token that hold, each proved by one chain,
	// without their caveats and paths: verdicts are remembered, and those are large.
	Grants []ucan.Grant
	// CIDs restricts what may be reached by content; nil is no restriction.
	CIDs *ucan.CIDSet
	// Expires is the earliest expiry in the chain; zero when none ends.
	Expires time.Time
	// TokenCID names the outer token.
	TokenCID string
	// Chain lists the tokens that a revocation could hit, the outer one first.
	Chain []ucan.Link
	// Delegation is the caller's own delegation to this service, verified and
	// encoded, or "" when none came along. It is a secret.
	Delegation string
	// Sponsor is who answers for what the principal uses: the DID by whose word
	// the Door let it in. It is the principal itself unless it acts for a member.
	Sponsor string

	// logsIn marks a delegation that authenticates its issuer when it is alone.
	logsIn bool
	// bare says that nothing is done in its name with what it stored: see Brought.Nothing.
	bare bool
	// names says which services its token is about.
	names named
}

// String returns the DID, so that a principal in a log shows no token.
func (p Principal) String() string { return p.DID }

// LogValue says who it is, for structured logs.
func (p Principal) LogValue() slog.Value {
	return slog.GroupValue(slog.String("did", p.DID), slog.String("root", p.Root))
}

// RateKey returns the key under which requests of the principal are counted.
func (p Principal) RateKey() string { return p.DID }

// InPerson reports whether the principal itself speaks, with a token that it signed and
// that is not for chosen content alone: neither a delegation nor an app key, which others
// may hold.
func (p Principal) InPerson() bool { return p.Kind == ByInvocation && p.CIDs == nil }

// Signs reports whether a token of that issuer is signed by whoever speaks.
func (p Principal) Signs(issuer did.DID) bool { return string(issuer) == cmp.Or(p.Key, p.DID) }

// Brought returns what the principal's request brought for work that is done elsewhere.
func (p Principal) Brought() Brought {
	return Brought{Delegation: p.Delegation, InPerson: p.InPerson()}
}

// Brought is what a request brings for work in its user's name (ADR 0270). The zero value
// brings nothing, and the delegation that the user stored counts.
type Brought struct {
	// Delegation is the request's own, verified and encoded, or "". It is a secret.
	Delegation string
	// InPerson says that the user signed the request too: see Principal.InPerson. Only
	// then does the stored delegation count beside the request's own. Without it the
	// request proved itself by the delegation, which others may hold, and gets no more
	// than that says.
	InPerson bool
	// Nothing says that the work goes on without a request that was Narrow: nothing is left
	// that it may use, the stored delegation no more than before.
	Nothing bool
}

// Narrow reports whether the stored delegation does not count: the request proved itself by
// a delegation that others may hold.
func (b Brought) Narrow() bool { return b.Nothing || b.Delegation != "" && !b.InPerson }

// Of returns the user in whose name the work is done.
func (b Brought) Of(userDID string) Principal {
	p := Principal{DID: userDID, Root: userDID, Delegation: b.Delegation, bare: b.Nothing}
	if !b.InPerson {
		p.Kind = ByDelegation
	}
	return p
}

// String shows no token.
func (b Brought) String() string { return "[brought]" }

// Allows reports whether one of the proved capabilities covers the ability on
// the resource. It looks at abilities and resources only: CID restrictions are
// the caller's to apply.
func (p Principal) Allows(ability, resource string) bool {
	want, err := ucan.ParseResource(resource)
	if err != nil || want.Unsafe() {
		return false
	}
	for i := range p.Grants {
		if g := &p.Grants[i]; ucan.AbilityCovers(g.Can, ability) && g.Resource.Covers(want) {
			return true
		}
	}
	return false
}

type contextKey struct{}

// WithPrincipal returns a context that carries the principal.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// FromContext returns the principal of a request, and false on a route that
// needs none.
func FromContext(ctx context.Context) (Principal, bool) {
	p, ok := ctx.Value(contextKey{}).(Principal)
	return p, ok
}

type endingKey struct{}

// WithEnding returns a context that knows how to learn of the end of the
// principal's token: on calls end once when that is so.
func WithEnding(ctx context.Context, on func(end func()) (stop func())) context.Context {
	return context.WithValue(ctx, endingKey{}, on)
}

// ErrEnded is why a context of UntilEnded ended, where the token did.
var ErrEnded = fault.New(fault.Unauthenticated, "The token was withdrawn, or whoever it let in may not come in any more.").WithCode("ended")

// UntilEnded returns a context that also ends with the token of the request that
// request is the context of, for answers that go on.
func UntilEnded(ctx, request context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	on, ok := request.Value(endingKey{}).(func(end func()) (stop func()))
	if !ok {
		return ctx, func() { cancel(nil) }
	}
	stop := on(func() { cancel(ErrEnded) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// Handshake returns the credentials of a socket: the same rules apply as to the
// headers of a request.
func Handshake(invocation, delegation string) Credentials {
	return Credentials{Bearer: invocation, AuthType: "ucan", Delegation: delegation}
}
