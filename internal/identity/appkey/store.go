package appkey

import (
	"context"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// Bounds of what somebody may have. Every app key that is revoked takes room in
// the memory of every node until it would have expired.
const (
	MaxActive     = 50
	MaxMadePerDay = 100
)

// Store keeps app keys. All of it is shared by the nodes of a fleet.
type Store interface {
	// AddKey enters a new key under the digest of its text, unless its maker has one
	// of that name that counts (ErrNameTaken), or too many (ErrTooMany). Of several
	// concurrent callers with one name exactly one succeeds.
	AddKey(ctx context.Context, k Key, digest string) error
	// KeyByDigest returns a key, whatever its state, and false when there is none.
	KeyByDigest(ctx context.Context, digest string) (Key, bool, error)
	// Key returns a key of the maker by its id, and false when there is none.
	Key(ctx context.Context, maker, id string) (Key, bool, error)
	// Keys lists the maker's keys, the newest first, with those that ended lately.
	Keys(ctx context.Context, maker string, limit int) ([]Key, error)
	// RevokeKey ends a key; one that has ended stays as it is.
	RevokeKey(ctx context.Context, maker, id string, at time.Time) error
	// TouchKey notes a use, unless one was noted after the second time.
	TouchKey(ctx context.Context, id string, at, after time.Time) error
	// ChargeKey adds to what was spent, each addition exactly once. What is negative
	// is taken back.
	ChargeKey(ctx context.Context, id string, used Amount) error
	// ReserveKey adds to what was spent as much of an amount as the budget has left,
	// and says how much that was. It is false, and adds nothing, when nothing is left
	// of a budget, or the maker has no such key.
	ReserveKey(ctx context.Context, maker, id string, want Amount) (held Amount, ok bool, err error)
}

// Why a key was not made.
var (
	ErrNameTaken = fault.New(fault.Conflict, "You have an app key of that name: revoke it first, or choose another name.").WithCode("name_taken")
	ErrTooMany   = fault.Newf(fault.Conflict, "You have too many app keys: at most %d count at a time, and %d are made in a day.", MaxActive, MaxMadePerDay).WithCode("too_many_app_keys")
)
