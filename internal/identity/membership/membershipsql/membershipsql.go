// Package membershipsql keeps members and invitations in the database.
package membershipsql

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations returns the schema.
func Migrations() sqldb.Migrations { return sqldb.Migrations{Service: "membership", FS: files} }

// Store is a membership.Store in a database whose migrations were applied.
type Store struct {
	db *sqldb.DB
}

var _ membership.Store = (*Store)(nil)

// New returns a store.
func New(db *sqldb.DB) *Store { return &Store{db: db} }

// DepartureFeed numbers who left, was kept out or let in again.
const DepartureFeed = "membership_departures"

// AddMember implements membership.Store.
func (s *Store) AddMember(ctx context.Context, m membership.Member) (added bool, err error) {
	err = s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		added, err = addMember(ctx, tx, m)
		return err
	})
	return added, err
}

// addMember adds or brings back; who is a member stays as they are.
func addMember(ctx context.Context, tx sqldb.Querier, m membership.Member) (bool, error) {
	result, err := tx.ExecContext(ctx, `INSERT INTO membership_members (did, note, invitation, added_ms, removed_ms, left_feed)
		VALUES ($1, $2, $3, $4, 0, 0) ON CONFLICT (did) DO UPDATE SET
		note = excluded.note, invitation = excluded.invitation, added_ms = excluded.added_ms, removed_ms = 0, left_feed = 0
		WHERE membership_members.removed_ms > 0`, m.DID, m.Note, m.Invite, sqldb.MS(m.Added))
	if err != nil {
		return false, fmt.Errorf("insert member: %w", err)
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// RemoveMember implements membership.Store.
func (s *Store) RemoveMember(ctx context.Context, did string, at time.Time) (removed bool, err error) {
	err = s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		feed, err := sqldb.NextFeed(ctx, tx, DepartureFeed)
		if err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, `UPDATE membership_members SET removed_ms = $1, left_feed = $2
			WHERE did = $3 AND removed_ms = 0`, max(sqldb.MS(at), 1), feed, did)
		if err != nil {
			return fmt.Errorf("remove member: %w", err)
		}
		n, err := result.RowsAffected()
		removed = n > 0
		return err
	})
	return removed, err
}

// IsMember implements membership.Store.
func (s *Store) IsMember(ctx context.Context, did string) (bool, error) {
	var one int
	err := s.db.Read().QueryRowContext(ctx, `SELECT 1 FROM membership_members WHERE did = $1 AND removed_ms = 0`, did).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for member: %w", err)
	}
	return true, nil
}

const memberColumns = `did, note, invitation, added_ms`

func scanMember(row interface{ Scan(into ...any) error }) (m membership.Member, err error) {
	var added int64
	err = row.Scan(&m.DID, &m.Note, &m.Invite, &added)
	m.Added = sqldb.Time(added)
	return m, err
}

// Members implements membership.Store.
func (s *Store) Members(ctx context.Context, after string, limit int) ([]membership.Member, error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT `+memberColumns+` FROM membership_members
		WHERE did > $1 AND removed_ms = 0 ORDER BY did LIMIT $2`, after, limit)
	return collect(rows, err, func(rows *sql.Rows) (membership.Member, error) { return scanMember(rows) })
}

// CountMembers implements membership.Store.
func (s *Store) CountMembers(ctx context.Context) (n int64, err error) {
	err = s.db.Read().QueryRowContext(ctx, `SELECT COUNT(*) FROM membership_members WHERE removed_ms = 0`).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count members: %w", err)
	}
	return n, nil
}

// Departures implements membership.Store.
func (s *Store) Departures(ctx context.Context, after int64, limit int) ([]membership.Departure, error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT n, did, kind FROM (
		SELECT left_feed AS n, did, 0 AS kind FROM membership_members WHERE left_feed > $1
		UNION ALL SELECT feed, did, CASE WHEN ended_ms = 0 THEN 1 ELSE 2 END FROM membership_blocks WHERE feed > $1
		) AS news ORDER BY n LIMIT $2`, after, limit)
	return collect(rows, err, func(rows *sql.Rows) (d membership.Departure, err error) {
		var kind int
		err = rows.Scan(&d.Feed, &d.DID, &kind)
		d.Blocked, d.Unblocked = kind == 1, kind == 2
		return d, err
	})
}

// Choice implements membership.Store.
func (s *Store) Choice(ctx context.Context) (membership.Mode, error) {
	var mode string
	err := s.db.Read().QueryRowContext(ctx, `SELECT mode FROM membership_choice WHERE name = 'access'`).Scan(&mode)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("read chosen access: %w", err)
	}
	return membership.Mode(mode), nil
}

// Choose implements membership.Store.
func (s *Store) Choose(ctx context.Context, m membership.Mode, at time.Time) error {
	_, err := s.db.WriteOne(ctx, `INSERT INTO membership_choice (name, mode, chosen_ms) VALUES ('access', $1, $2)
		ON CONFLICT (name) DO UPDATE SET mode = excluded.mode, chosen_ms = excluded.chosen_ms
		WHERE membership_choice.mode <> excluded.mode`, string(m), sqldb.MS(at))
	if err != nil {
		return fmt.Errorf("record chosen access: %w", err)
	}
	return nil
}

// collect reads all rows, and closes them.
func collect[T any](rows *sql.Rows, err error, scan func(*sql.Rows) (T, error)) (list []T, _ error) {
	if err != nil {
		return nil, fmt.Errorf("select: %w", err)
	}
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("scan: %w", err), rows.Close())
		}
		list = append(list, one)
	}
	return list, errors.Join(rows.Err(), rows.Close())
}
