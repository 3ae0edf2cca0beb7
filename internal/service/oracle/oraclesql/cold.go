package oraclesql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/coldstore"
)

// Cold brings back sessions whose messages and runs are not in the tables;
// *coldstore.Store is one.
type Cold interface {
	Thaw(ctx context.Context, session string) error
	ThawRun(ctx context.Context, owner, run string) error
}

var _ Cold = (*coldstore.Store)(nil)

// WithCold returns a store that brings back what is cold.
func (st *Store) WithCold(c Cold) *Store {
	copied := *st
	copied.cold = c
	return &copied
}

// errCold says that a session is cold.
var errCold = errors.New("the session is cold")

// tries bounds how often a session is brought back for one who finds it cold again.
const tries = 4

func (st *Store) thaw(ctx context.Context, session string) error {
	if st.cold != nil {
		return st.cold.Thaw(ctx, session)
	}
	cold, err := exists(ctx, st.db.Read(), `SELECT 1 FROM oracle_sessions WHERE id = $1 AND cold = 1`, session)
	if err != nil || !cold {
		return err
	}
	return fmt.Errorf("session %s: %w", session, coldstore.ErrAway)
}

// warm does something in the owner's session. When it misses what it looks for, which may
// be because the session is cold, that is brought back and it is done again. Sessions that
// are not cold cost nothing: all rows go, or none, so that whoever finds one finds all.
func (st *Store) warm(ctx context.Context, owner, session string, do func() (missed bool, err error)) error {
	before := int64(-1)
	for range tries {
		missed, err := do()
		if !missed && !errors.Is(err, errCold) {
			return err
		}
		var cold, thawed int64
		lookErr := st.db.Read().QueryRowContext(ctx, `SELECT cold, thawed_ms FROM oracle_sessions WHERE id = $1 AND owner = $2`, session, owner).Scan(&cold, &thawed)
		switch {
		case errors.Is(lookErr, sql.ErrNoRows):
			return err
		case lookErr != nil:
			return fmt.Errorf("look whether a session is cold: %w", lookErr)
		case cold == 1:
			if err := st.thaw(ctx, session); err != nil {
				return err
			}
		case thawed == 0 || thawed == before: // it was warm all the while
			return err
		default: // it may have come back just now
			before = thawed
		}
	}
	return fault.New(fault.Unavailable, "This conversation is being archived. Try again.")
}

// warmRun is warm for those who know a run alone; an empty owner is any.
func (st *Store) warmRun(ctx context.Context, owner, run string, do func() error) error {
	err := do()
	if st.cold == nil || !errors.Is(err, oracle.ErrRunNotFound) {
		return err
	}
	if err := st.cold.ThawRun(ctx, owner, run); err != nil {
		return err
	}
	return do()
}
