package archive

import (
	"context"
	"errors"
	"fmt"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// halfFull is the slot by which a place says that a restore has begun and has not ended
// well. No archive has slots, so that none can take it away.
const halfFull = "restore.half_full"

// ErrHalfFull says that nobody may serve from a place.
var ErrHalfFull = errors.New("a restore into this place was refused or broke off: what is there is not whole, or somebody else's; throw it away (the data folder, or the database and the bucket), and restore into an empty place")

// Ready fails where a restore has begun and has not ended well: what makes it a failure may
// be known at its end alone. The platform's tables must be there.
func Ready(ctx context.Context, db *sqldb.DB) error {
	var n int
	err := db.Read().QueryRowContext(ctx, `SELECT COUNT(*) FROM platform_slots WHERE name = $1`, halfFull).Scan(&n)
	switch {
	case err != nil:
		return fmt.Errorf("look for a restore that did not end: %w", err)
	case n > 0:
		return ErrHalfFull
	}
	return nil
}

func (p Place) begin(ctx context.Context) error {
	_, err := p.DB.WriteOne(ctx, `INSERT INTO platform_slots (name, slot) VALUES ($1, 1) ON CONFLICT (name) DO NOTHING`, halfFull)
	if err != nil {
		return fmt.Errorf("note that a restore begins: %w", err)
	}
	return nil
}

func (p Place) end(ctx context.Context) error {
	if _, err := p.DB.WriteOne(ctx, `DELETE FROM platform_slots WHERE name = $1`, halfFull); err != nil {
		return fmt.Errorf("note that a restore ended: %w", err)
	}
	return nil
}
