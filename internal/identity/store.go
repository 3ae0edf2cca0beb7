package identity

import (
	"context"
	"time"

	"github.com/castalia-org/castalia/internal/platform/bus"
)

// Store keeps what identity must not forget. All of it is shared by the nodes
// of a fleet.
type Store interface {
	// AddRevocation records a revocation until its Until, or for ever. It returns its
	// number in the feed, and false when the target had been revoked before.
	AddRevocation(ctx context.Context, r Revocation) (feed int64, added bool, err error)
	// Revocations lists revocations with a higher number, in order of number: what
	// was withdrawn and until when, not by whom. A revocation that becomes visible has a higher number than all that were
	// visible before.
	Revocations(ctx context.Context, after int64, limit int) ([]Revocation, error)
	// Bindings lists bindings of keys with a higher number, each as it is now, in order of
	// number. One that changes gets a number above all that were visible before.
	Bindings(ctx context.Context, after int64, limit int) ([]Binding, error)
	// UseOnce marks a single-use token, and reports false when it was marked
	// before. Exactly one of several concurrent callers gets true. Marks may be
	// forgotten after the time.
	UseOnce(ctx context.Context, mark string, until time.Time) (bool, error)
	// PutDelegation stores a user's delegation to this service, in place of an
	// earlier one.
	PutDelegation(ctx context.Context, d StoredDelegation) error
	// Delegation returns the user's delegation, and false when there is none.
	Delegation(ctx context.Context, user string) (StoredDelegation, bool, error)
	// DeleteDelegation forgets the user's delegation; none is fine.
	DeleteDelegation(ctx context.Context, user string) error
	// Sweep forgets up to limit marks and delegations that ended before the
	// time, and returns how many.
	Sweep(ctx context.Context, before time.Time, limit int) (int, error)
	// SweepRevocations forgets up to limit revocations of tokens that expired before
	// the time, and before the store's own clock says so: nobody whose clock is wrong
	// makes the others forget. It returns how many, and the time that was applied.
	SweepRevocations(ctx context.Context, before time.Time, limit int) (forgotten int, applied time.Time, err error)
}

// Hints wakes the other nodes; bus.Bus is one. Hints may be lost, doubled or
// reordered: the poll makes up for it.
type Hints interface {
	Publish(ctx context.Context, subject string, data []byte) error
	Subscribe(subject string, fn func(bus.Message)) (bus.Subscription, error)
}

// StoredDelegation is a user's deposited delegation. Raw is sealed for the user, or of a
// release that kept it in clear.
type StoredDelegation struct {
	User      string
	Raw       string
	CID       string
	Expires   time.Time // zero: never
	UpdatedAt time.Time
}

// RevocationKind says what a revocation names.
type RevocationKind string

// The kinds of revocation.
const (
	// RevokedToken names one token by CID.
	RevokedToken RevocationKind = "token"
	// RevokedIssuer names a DID: every chain that it signed a part of.
	RevokedIssuer RevocationKind = "issuer"
)

// Revocation withdraws a token or everything that an issuer signed. It is
// irreversible: it is forgotten only when the token is over by itself.
type Revocation struct {
	Feed   int64
	Kind   RevocationKind
	Target string // CID or DID
	// By is the DID that revoked: an issuer in the token's chain.
	By string
	At time.Time
	// Until is when the revoked token expires, so that nothing is left to revoke; zero
	// for an issuer, for a token that never expires, and in rows of earlier releases.
	Until time.Time
}
