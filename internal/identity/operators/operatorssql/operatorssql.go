// Package operatorssql keeps operators and setup links in the database, in tables
// that identitysql's migrations make.
package operatorssql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/identity/operators"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// Store is an operators.Store in a database whose migrations were applied.
type Store struct {
	db *sqldb.DB
}

var _ operators.Store = (*Store)(nil)

// New returns a store.
func New(db *sqldb.DB) *Store { return &Store{db: db} }

// RoleOf implements operators.Store.
func (s *Store) RoleOf(ctx context.Context, did string) (operators.Role, error) {
	return RoleIn(ctx, s.db.Read(), did)
}

// RoleIn returns the role of a DID, or none, as q sees it: a transaction that goes by the
// answer is tried again when the role changes meanwhile.
func RoleIn(ctx context.Context, q sqldb.Querier, did string) (operators.Role, error) {
	var role string
	err := q.QueryRowContext(ctx, `SELECT role FROM identity_operators WHERE did = $1`, did).Scan(&role)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return operators.None, fmt.Errorf("look for operator: %w", err)
	}
	return operators.Role(role), nil
}

const columns = `did, role, note, added_by, added_ms`

func scan(row interface{ Scan(into ...any) error }) (r operators.Record, err error) {
	var role string
	var added int64
	err = row.Scan(&r.DID, &role, &r.Note, &r.By, &added)
	r.Role, r.Added = operators.Role(role), sqldb.Time(added)
	return r, err
}

// Operators implements operators.Store.
func (s *Store) Operators(ctx context.Context, after string, limit int) (list []operators.Record, err error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT `+columns+` FROM identity_operators WHERE did > $1 ORDER BY did LIMIT $2`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list operators: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		r, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("scan operator: %w", err)
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

// HasOwner implements operators.Store.
func (s *Store) HasOwner(ctx context.Context) (bool, error) {
	var n int
	if err := s.db.Read().QueryRowContext(ctx, `SELECT COUNT(*) FROM identity_operators WHERE role = $1`, string(operators.Owner)).Scan(&n); err != nil {
		return false, fmt.Errorf("look for an owner: %w", err)
	}
	return n > 0, nil
}

// PutOperator implements operators.Store.
func (s *Store) PutOperator(ctx context.Context, r operators.Record) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if err := mayChange(ctx, tx, r.By); err != nil {
			return err
		}
		return put(ctx, tx, r)
	})
}

// mayChange fails unless somebody who acts by a role is still an owner.
func mayChange(ctx context.Context, tx sqldb.Querier, by string) error {
	if !operators.ByRole(by) {
		return nil
	}
	var n int
	err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM identity_operators WHERE did = $1 AND role = $2`, by, string(operators.Owner)).Scan(&n)
	if err != nil {
		return fmt.Errorf("look for the owner who acts: %w", err)
	}
	if n == 0 {
		return operators.ErrNoOwner
	}
	return nil
}

func put(ctx context.Context, tx sqldb.Querier, r operators.Record) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO identity_operators (`+columns+`) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (did) DO UPDATE SET role = excluded.role, note = excluded.note, added_by = excluded.added_by, added_ms = excluded.added_ms`,
		r.DID, string(r.Role), r.Note, r.By, sqldb.MS(r.Added))
	if err != nil {
		return fmt.Errorf("insert operator: %w", err)
	}
	return nil
}

// RemoveOperator implements operators.Store.
func (s *Store) RemoveOperator(ctx context.Context, did, by string) (removed bool, err error) {
	err = s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if err := mayChange(ctx, tx, by); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `DELETE FROM identity_operators WHERE did = $1`, did)
		if err != nil {
			return fmt.Errorf("delete operator: %w", err)
		}
		n, err := res.RowsAffected()
		removed = n > 0
		return err
	})
	return removed && err == nil, err
}

// AddLink implements operators.Store.
func (s *Store) AddLink(ctx context.Context, l operators.Link) error {
	_, err := s.db.WriteOne(ctx, `INSERT INTO identity_setup_links (digest, created_ms, expires_ms, opened_by) VALUES ($1, $2, $3, '')`,
		l.Digest, sqldb.MS(l.Created), sqldb.MS(l.Expires))
	if err != nil {
		return fmt.Errorf("insert setup link: %w", err)
	}
	return nil
}

// setupFeed is a counter whose row those who open links lock, so that they take
// turns, on all nodes.
const setupFeed = "identity_setup"

// OpenLink implements operators.Store.
func (s *Store) OpenLink(ctx context.Context, digest, did string, at time.Time) (owner operators.Record, err error) {
	err = s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if _, err := sqldb.NextFeed(ctx, tx, setupFeed); err != nil {
			return err
		}
		owner, err = open(ctx, tx, digest, did, at)
		return err
	})
	if err != nil {
		return operators.Record{}, err
	}
	return owner, nil
}

func open(ctx context.Context, tx sqldb.Querier, digest, did string, at time.Time) (operators.Record, error) {
	var expires int64
	var openedBy string
	err := tx.QueryRowContext(ctx, `SELECT expires_ms, opened_by FROM identity_setup_links WHERE digest = $1`, digest).Scan(&expires, &openedBy)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return operators.Record{}, operators.ErrNoLink
	case err != nil:
		return operators.Record{}, fmt.Errorf("look for setup link: %w", err)
	case openedBy == did:
		// An answer that got lost is asked for again; a role that was taken away does
		// not come back by it.
		r, err := scan(tx.QueryRowContext(ctx, `SELECT `+columns+` FROM identity_operators WHERE did = $1 AND role = $2`, did, string(operators.Owner)))
		if errors.Is(err, sql.ErrNoRows) {
			return operators.Record{}, operators.ErrLinkOver
		}
		return r, err
	case openedBy != "" || sqldb.MS(at) >= expires:
		return operators.Record{}, operators.ErrLinkOver
	}
	if _, err := tx.ExecContext(ctx, `UPDATE identity_setup_links SET opened_by = $1 WHERE digest = $2`, did, digest); err != nil {
		return operators.Record{}, fmt.Errorf("note who opened the setup link: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `UPDATE identity_setup_links SET expires_ms = $1 WHERE opened_by = '' AND expires_ms > $1`, sqldb.MS(at)); err != nil {
		return operators.Record{}, fmt.Errorf("end other setup links: %w", err)
	}
	r := operators.Record{DID: did, Role: operators.Owner, By: operators.BySetupLink, Added: sqldb.Time(sqldb.MS(at))}
	return r, put(ctx, tx, r)
}
