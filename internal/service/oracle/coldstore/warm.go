package coldstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

// Thawer brings back sessions that are cold, and reads them where they are; *Store is one.
type Thawer interface {
	Thaw(ctx context.Context, session string) error
	ThawRun(ctx context.Context, owner, run string) error
	// Read reads one as it is, and leaves it cold.
	Read(ctx context.Context, session string) (k Kept, cold bool, err error)
}

var _ Thawer = (*Store)(nil)

// ErrCold says that a session is cold: see Warm.
var ErrCold = errors.New("the session is cold")

var errMoving = fault.New(fault.Unavailable, "This conversation is being archived. Try again.")

// tries bounds how often a session is brought back for one who finds it cold again.
const tries = 4

// Warm lets readers and writers of the tables find what is cold.
type Warm struct {
	DB *sqldb.DB
	// Thawer may be nil: then what is cold is said to be away.
	Thawer Thawer
}

// Thaw brings a session back, if it is cold.
func (w Warm) Thaw(ctx context.Context, session string) error {
	if w.Thawer != nil {
		return w.Thawer.Thaw(ctx, session)
	}
	cold, err := sqldb.Strings(ctx, w.DB.Read(), `SELECT id FROM oracle_sessions WHERE id = $1 AND cold = 1`, session)
	if err != nil || len(cold) == 0 {
		return err
	}
	return fmt.Errorf("session %s: %w", session, ErrAway)
}

// In does something in the owner's session. When it misses what it looks for, which may
// be because the session is cold, or fails with ErrCold, that is brought back and it is
// done again. Sessions that are not cold cost nothing: all rows go, or none, so that
// whoever finds one finds all.
func (w Warm) In(ctx context.Context, owner, session string, do func() (missed bool, err error)) error {
	before := int64(-1)
	for range tries {
		missed, err := do()
		if !missed && !errors.Is(err, ErrCold) {
			return err
		}
		var cold, thawed int64
		lookErr := w.DB.Read().QueryRowContext(ctx, `SELECT cold, thawed_ms FROM oracle_sessions WHERE id = $1 AND owner = $2`, session, owner).Scan(&cold, &thawed)
		switch {
		case errors.Is(lookErr, sql.ErrNoRows):
			return err
		case lookErr != nil:
			return fmt.Errorf("look whether a session is cold: %w", lookErr)
		case cold == 1:
			if err := w.Thaw(ctx, session); err != nil {
				return err
			}
		case !errors.Is(err, ErrCold) && (thawed == 0 || thawed == before): // it was warm all the while
			return err
		default: // it may have come back just now
			before = thawed
		}
	}
	return errMoving
}

// Run is In for those who know a run alone; an empty owner is any.
func (w Warm) Run(ctx context.Context, owner, run string, do func() error) error {
	err := do()
	if w.Thawer == nil || !errors.Is(err, oracle.ErrRunNotFound) {
		return err
	}
	if err := w.Thawer.ThawRun(ctx, owner, run); err != nil {
		return err
	}
	return do()
}
