package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"time"
)

// Store keeps a plugin's records: ordered keys with byte values. Each plugin
// has its own. Keys are valid UTF-8 of 1 to 512 bytes, values at most 1 MiB.
type Store interface {
	// Get returns the value of a key; ok is false when it is absent or expired.
	Get(ctx context.Context, key string) (value []byte, ok bool, err error)
	// Scan returns entries in key order.
	Scan(ctx context.Context, r Range) ([]Entry, error)
	// Update runs fn in a serialisable transaction: all Updates of one plugin
	// behave as if they ran one after the other. fn may run more than once and
	// must have no effect outside tx. It is durable when Update returns nil.
	Update(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
}

// Tx is a Store inside a transaction.
type Tx interface {
	Get(ctx context.Context, key string) (value []byte, ok bool, err error)
	Scan(ctx context.Context, r Range) ([]Entry, error)
	// Put stores a value; ttl zero keeps it until it is deleted.
	Put(ctx context.Context, key string, value []byte, ttl time.Duration) error
	// Delete forgets a key; an absent key is fine.
	Delete(ctx context.Context, key string) error
	// Now is the store's clock, the same on every node.
	Now() time.Time
}

// Range selects keys that start with Prefix and sort after After, at most
// Limit of them (zero means 1,000, which is also the most).
type Range struct {
	Prefix string
	After  string
	Limit  int
	// Reverse walks from the end; After is then an upper bound.
	Reverse bool
}

// Entry is a key and its value.
type Entry struct {
	Key   string
	Value []byte
}

// UserKey stands for a user inside keys: the same 43 letters, digits, "-" and
// "_" for one DID, however long it is, so that no user's keys are a prefix of
// another's.
func UserKey(did string) string {
	sum := sha256.Sum256([]byte(did))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
