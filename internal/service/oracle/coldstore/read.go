package coldstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

// Kept is what the archive has of a conversation.
type Kept struct{ tables []table }

// Each calls do with the rows of a table, each with the values of the columns that are asked
// for; nil is one that there was not when the conversation went.
func (k Kept) Each(name string, columns []string, do func(values []any) error) error {
	for _, t := range k.tables {
		if t.Name != name {
			continue
		}
		for _, row := range t.Rows {
			values := make([]any, len(columns))
			for i, c := range columns {
				if at := slices.Index(t.Columns, c); at >= 0 {
					values[i] = row[at]
				}
			}
			if err := do(values); err != nil {
				return err
			}
		}
	}
	return nil
}

// All calls do with every row, by its columns.
func (k Kept) All(do func(table string, row map[string]any) error) error {
	for _, t := range k.tables {
		for _, values := range t.Rows {
			row := make(map[string]any, len(values))
			for i, c := range t.Columns {
				row[c] = values[i]
			}
			if err := do(t.Name, row); err != nil {
				return err
			}
		}
	}
	return nil
}

// Read reads what the archive has of a session and leaves it there; not cold when it has
// nothing. It fails with oracle.ErrLost when that is gone for good.
func (s *Store) Read(ctx context.Context, session string) (k Kept, cold bool, err error) {
	o, ok, err := s.find(ctx, session)
	if err != nil || !ok {
		return k, false, err
	}
	k.tables, err = s.open(ctx, o)
	if errors.Is(err, oracle.ErrLost) { // seen twice: a store may answer oddly once
		k.tables, err = s.open(ctx, o)
	}
	if err == nil {
		return k, true, nil
	}
	now, ok, findErr := s.find(ctx, session)
	switch {
	case findErr != nil:
		return k, false, findErr
	case !ok || now.id != o.id: // it came back meanwhile, or was deleted
		return Kept{}, false, nil
	case errors.Is(err, oracle.ErrLost):
		return k, true, fmt.Errorf("read conversation %s: %w", session, err)
	}
	return k, true, away(session, err)
}

func away(session string, err error) error {
	return fmt.Errorf("conversation %s: %w", session, fault.Wrap(fault.Unavailable, ErrAway.Error(), err))
}

// Missing reports whether a session is cold and its object is gone, or has another length:
// what a look tells without reading it.
func (s *Store) Missing(ctx context.Context, session string) (bool, error) {
	o, ok, err := s.find(ctx, session)
	if err != nil || !ok {
		return false, err
	}
	err = s.examine(ctx, o, false)
	if errors.Is(err, oracle.ErrLost) {
		return true, nil
	}
	return false, err
}

// Has reports whether a session is cold. It does not ask the archive.
func (s *Store) Has(ctx context.Context, session string) (bool, error) {
	_, ok, err := s.find(ctx, session)
	return ok, err
}

// State is whether a session is cold, and when it last came back: as long as both are the
// same its rows were in one place.
type State struct{ Cold, Thawed int64 }

// State returns that of a session; ok says that there is one.
func (w Warm) State(ctx context.Context, tx sqldb.Querier, session string) (at State, ok bool, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT cold, thawed_ms FROM oracle_sessions WHERE id = $1`, session)
	if err != nil {
		return at, false, fmt.Errorf("look whether a session is cold: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if rows.Next() {
		ok = true
		if err := rows.Scan(&at.Cold, &at.Thawed); err != nil {
			return at, false, fmt.Errorf("look whether a session is cold: %w", err)
		}
	}
	return at, ok, rows.Err()
}

// Read is Store.Read, for those who may have no archive.
func (w Warm) Read(ctx context.Context, session string) (Kept, bool, error) {
	if w.Thawer == nil {
		return Kept{}, true, fmt.Errorf("session %s: %w", session, ErrAway)
	}
	return w.Thawer.Read(ctx, session)
}

// AsItIs does something with a session wherever its rows are, and does it again when they
// moved meanwhile. What it reads of the archive stays there.
func (w Warm) AsItIs(ctx context.Context, session string, do func(cold bool) error) error {
	for range tries {
		before, ok, err := w.State(ctx, w.DB.Read(), session)
		if err != nil || !ok {
			return err
		}
		doErr := do(before.Cold == 1)
		after, ok, err := w.State(ctx, w.DB.Read(), session)
		if err != nil {
			return errors.Join(doErr, err)
		}
		if !ok || after == before {
			return doErr
		}
	}
	return errMoving
}
