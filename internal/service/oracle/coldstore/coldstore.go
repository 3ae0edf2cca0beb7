// Package coldstore moves conversations that nobody has used for long out of the tables
// into sealed objects, and brings them back when somebody opens them.
//
// It promises that at any moment either the rows or the object are the conversation, and
// never neither: the object is stored first, and one transaction then makes it count and
// deletes the rows, unless the conversation was touched since it was read. What dies in
// between leaves an object that is swept. What comes back is what went, row by row; any
// node brings it back, and two who try do it once. Objects are sealed under keys of their
// own, which are destroyed when a conversation is deleted or comes back.
//
// It refuses conversations that are larger than MaxBytes or have more than MaxMessages,
// which stay where they are: one that comes back is read whole, and written in one
// transaction.
//
// What a conversation is listed, searched and counted by stays in the tables: sessions,
// branches, feedback, calls and usage. Which rules there are is for package retention.
//
// Decision: ADR 0254.
package coldstore

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/klauspost/compress/zstd"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

const (
	// MaxBytes bounds the texts of a conversation that moves.
	MaxBytes = 8 << 20
	// MaxMessages bounds how many messages it has.
	MaxMessages = 5000
	// maxPlain bounds the rows of a conversation as they are stored, with what JSON adds.
	maxPlain = 4 * MaxBytes
	// maxSealed bounds an object that is read.
	maxSealed = maxPlain + 1<<20
	// Prefix begins the names of objects, for good.
	Prefix = "cold/"
)

// ErrAway says that a conversation cannot be brought back for now.
var ErrAway = fault.New(fault.Unavailable, "This conversation is archived, and the archive cannot be reached now. Try again later.")

// Deps is what a Store stands on.
type Deps struct {
	DB    *sqldb.DB
	Blobs blob.Store
	Keys  Keys
	// Idle is the condition on a row of oracle_sessions that nobody has used it since $1,
	// and nothing goes on in it.
	Idle string
	Log  *slog.Logger
}

// Store is where cold conversations are. It is safe for concurrent use.
type Store struct {
	Deps
	pack   *zstd.Encoder
	unpack *zstd.Decoder
}

// New makes a Store. The database must have been migrated.
func New(d Deps) (*Store, error) {
	pack, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("make compressor: %w", err)
	}
	unpack, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxPlain))
	if err != nil {
		return nil, fmt.Errorf("make decompressor: %w", err)
	}
	return &Store{Deps: d, pack: pack, unpack: unpack}, nil
}

// object is what is recorded of an object.
type object struct {
	id, session string
	wrapped     []byte
	// size is how long the sealed content is, sealed the object, and bytes the rows in clear.
	size, sealed, bytes int64
	digest              string // SHA-256 of the object
	oldestRun           int64
}

func name(id string) string { return Prefix + id[:2] + "/" + id }

// Totals are all conversations that are cold.
type Totals struct {
	Conversations int64 `json:"conversations"`
	// Bytes are those of their rows as text, and Stored those of the objects.
	Bytes  int64 `json:"bytes"`
	Stored int64 `json:"stored"`
}

// Totals tells how many conversations are cold.
func (s *Store) Totals(ctx context.Context) (t Totals, err error) {
	err = s.DB.Read().QueryRowContext(ctx, `SELECT COALESCE(SUM(conversations), 0), COALESCE(SUM(bytes), 0), COALESCE(SUM(sealed), 0) FROM oracle_cold_totals`).
		Scan(&t.Conversations, &t.Bytes, &t.Stored)
	if err != nil {
		return t, fmt.Errorf("count cold conversations: %w", err)
	}
	return t, nil
}

// count adds to the totals, in the transaction of what changed.
func count(ctx context.Context, tx sqldb.Querier, n, bytes, sealed int64) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO oracle_cold_totals (id, conversations, bytes, sealed) VALUES (1, $1, $2, $3)
		ON CONFLICT (id) DO UPDATE SET conversations = oracle_cold_totals.conversations + excluded.conversations,
		bytes = oracle_cold_totals.bytes + excluded.bytes, sealed = oracle_cold_totals.sealed + excluded.sealed`, n, bytes, sealed)
	if err != nil {
		return fmt.Errorf("count cold conversations: %w", err)
	}
	return nil
}
