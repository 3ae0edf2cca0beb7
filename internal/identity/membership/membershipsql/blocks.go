package membershipsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// Block implements membership.Store.
func (s *Store) Block(ctx context.Context, b membership.Block) error {
	err := s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		feed, err := sqldb.NextFeed(ctx, tx, DepartureFeed)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO membership_blocks (did, note, blocked_by, blocked_ms, ended_ms, feed)
			VALUES ($1, $2, $3, $4, 0, $5) ON CONFLICT (did) DO UPDATE SET note = excluded.note, blocked_by = excluded.blocked_by,
			blocked_ms = excluded.blocked_ms, ended_ms = 0, feed = excluded.feed`, b.DID, b.Note, b.By, sqldb.MS(b.At), feed)
		return err
	})
	if err != nil {
		return fmt.Errorf("insert block: %w", err)
	}
	return nil
}

// Unblock implements membership.Store.
func (s *Store) Unblock(ctx context.Context, did string, at time.Time) (ended bool, err error) {
	err = s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		feed, err := sqldb.NextFeed(ctx, tx, DepartureFeed)
		if err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, `UPDATE membership_blocks SET ended_ms = $1, feed = $2 WHERE did = $3 AND ended_ms = 0`,
			max(sqldb.MS(at), 1), feed, did)
		if err != nil {
			return fmt.Errorf("end block: %w", err)
		}
		n, err := result.RowsAffected()
		ended = n > 0
		return err
	})
	return ended, err
}

// Blocked implements membership.Store.
func (s *Store) Blocked(ctx context.Context, did string) (*membership.Block, error) {
	b := membership.Block{DID: did}
	var at int64
	err := s.db.Read().QueryRowContext(ctx, `SELECT note, blocked_by, blocked_ms FROM membership_blocks WHERE did = $1 AND ended_ms = 0`,
		did).Scan(&b.Note, &b.By, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // not blocked
	}
	if err != nil {
		return nil, fmt.Errorf("look for block: %w", err)
	}
	b.At = sqldb.Time(at)
	return &b, nil
}

// BlockedDIDs implements membership.Store.
func (s *Store) BlockedDIDs(ctx context.Context, after string, limit int) ([]string, error) {
	return sqldb.Strings(ctx, s.db.Read(), `SELECT did FROM membership_blocks WHERE did > $1 AND ended_ms = 0 ORDER BY did LIMIT $2`, after, limit)
}

// Member implements membership.Store.
func (s *Store) Member(ctx context.Context, did string) (*membership.Member, error) {
	m, err := scanMember(s.db.Read().QueryRowContext(ctx, `SELECT `+memberColumns+` FROM membership_members WHERE did = $1 AND removed_ms = 0`, did))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // no member
	}
	if err != nil {
		return nil, fmt.Errorf("look for member: %w", err)
	}
	return &m, nil
}

// MembersNoted implements membership.Store.
func (s *Store) MembersNoted(ctx context.Context, begins string, limit int) ([]membership.Member, error) {
	begins = strings.ToLower(begins)
	rows, err := s.db.Read().QueryContext(ctx, `SELECT `+memberColumns+` FROM membership_members
		WHERE lower(note) >= $1 AND lower(note) < $2 AND removed_ms = 0 ORDER BY lower(note), did LIMIT $3`,
		begins, begins+"\U0010FFFF", limit)
	return collect(rows, err, func(rows *sql.Rows) (membership.Member, error) { return scanMember(rows) })
}
