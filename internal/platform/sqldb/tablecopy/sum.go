package tablecopy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// Sum is a fingerprint of everything that Export hands out.
type Sum struct {
	Tables, Rows int
	// Hash is the same for the same rows, in whatever order, on either engine.
	Hash string
}

// SumOf reads every row. Two places with the same sum hold the same records.
func SumOf(ctx context.Context, db *sqldb.DB) (Sum, error) {
	var out Sum
	var total [sha256.Size]byte
	last := ""
	err := Export(ctx, db, func(table string, piece []byte) error {
		if table != last {
			out.Tables++
			last = table
		}
		head, rows, _ := bytes.Cut(piece, []byte("\n"))
		for row := range bytes.Lines(rows) {
			out.Rows++
			add(&total, sha256.Sum256(slices.Concat([]byte(table), []byte("\n"), head, []byte("\n"), row)))
		}
		return nil
	})
	out.Hash = hex.EncodeToString(total[:])
	return out, err
}

// add adds a number to a total, both with their lowest byte first, so that the
// order of what is added does not count.
func add(total *[sha256.Size]byte, number [sha256.Size]byte) {
	carry := 0
	for i := range total {
		carry += int(total[i]) + int(number[i])
		total[i] = byte(carry) //nolint:gosec // the rest is carried
		carry >>= 8
	}
}
