// Package identitysql keeps identity's records in the database: revocations
// with their feed, single-use marks, and users' delegations. The schema has the
// tables of appkeysql and operatorssql too, and Sweep forgets app keys and setup
// links that ended.
package identitysql

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations returns the schema.
func Migrations() sqldb.Migrations { return sqldb.Migrations{Service: "identity", FS: files} }

// Store is an identity.Store in a database whose migrations were applied.
type Store struct {
	db *sqldb.DB
}

var _ identity.Store = (*Store)(nil)

// New returns a store.
func New(db *sqldb.DB) *Store { return &Store{db: db} }

// RevocationFeed numbers revocations.
const RevocationFeed = "identity_revocations"

// AddRevocation implements identity.Store.
func (s *Store) AddRevocation(ctx context.Context, r identity.Revocation) (feed int64, added bool, err error) {
	err = s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		// The counter's row is locked first, so that two of the same target take turns.
		next, err := sqldb.NextFeed(ctx, tx, RevocationFeed)
		if err != nil {
			return err
		}
		err = tx.QueryRowContext(ctx, `INSERT INTO identity_revocations (feed, kind, target, revoked_by, at_ms, until_ms)
			VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (kind, target) DO NOTHING RETURNING feed`,
			next, string(r.Kind), r.Target, r.By, sqldb.MS(r.At), orNever(r.Until)).Scan(&feed)
		if added = err == nil; !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		return tx.QueryRowContext(ctx, `SELECT feed FROM identity_revocations WHERE kind = $1 AND target = $2`,
			string(r.Kind), r.Target).Scan(&feed)
	})
	if err != nil {
		return 0, false, fmt.Errorf("add revocation: %w", err)
	}
	return feed, added, nil
}

// Revocations implements identity.Store. A starting node reads all of them, a million
// perhaps: it reads what it keeps and nothing else, and the database joins the rows of a
// page into one text, since handing out each costs more than finding it.
func (s *Store) Revocations(ctx context.Context, after int64, limit int) ([]identity.Revocation, error) {
	var joined sql.NullString
	err := s.db.Read().QueryRowContext(ctx, `SELECT
		string_agg(feed || ' ' || until_ms || ' ' || octet_length(target) || ' ' || target, '')
		FROM (SELECT feed, target, until_ms FROM identity_revocations WHERE feed > $1 ORDER BY feed LIMIT $2) page`,
		after, limit).Scan(&joined)
	if err != nil {
		return nil, fmt.Errorf("list revocations: %w", err)
	}
	var list []identity.Revocation
	for text := joined.String; text != ""; {
		var r identity.Revocation
		if r, text, err = cutRevocation(text); err != nil {
			return nil, fmt.Errorf("read revocation: %w", err)
		}
		list = append(list, r)
	}
	// In practice it is sorted, but no engine promises in which order it joins.
	slices.SortFunc(list, func(a, b identity.Revocation) int { return cmp.Compare(a.Feed, b.Feed) })
	return list, nil
}

// cutRevocation reads the first row of what Revocations joined, and returns the rest.
func cutRevocation(text string) (r identity.Revocation, rest string, err error) {
	var numbers [3]int64 // the feed, the end, the length of the target
	for i := range numbers {
		var number string
		number, text, _ = strings.Cut(text, " ")
		if numbers[i], err = strconv.ParseInt(number, 10, 64); err != nil {
			return r, "", err
		}
	}
	length := numbers[2]
	if length < 0 || length > int64(len(text)) {
		return r, "", fmt.Errorf("a target of %d bytes in %d", length, len(text))
	}
	r.Feed, r.Target = numbers[0], text[:length]
	if until := numbers[1]; until != 0 {
		r.Until = sqldb.Time(until)
	}
	return r, text[length:], nil
}

// UseOnce implements identity.Store.
func (s *Store) UseOnce(ctx context.Context, mark string, until time.Time) (bool, error) {
	var fresh bool
	err := s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		var got string
		err := tx.QueryRowContext(ctx, `INSERT INTO identity_marks (mark, until_ms) VALUES ($1, $2)
			ON CONFLICT (mark) DO NOTHING RETURNING mark`, mark, sqldb.MS(until)).Scan(&got)
		if fresh = err == nil; errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("mark token: %w", err)
	}
	return fresh, nil
}

// PutDelegation implements identity.Store.
func (s *Store) PutDelegation(ctx context.Context, d identity.StoredDelegation) error {
	err := s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO identity_delegations (user_did, raw, cid, expires_ms, updated_ms)
			VALUES ($1, $2, $3, $4, $5) ON CONFLICT (user_did) DO UPDATE SET
			raw = excluded.raw, cid = excluded.cid, expires_ms = excluded.expires_ms, updated_ms = excluded.updated_ms`,
			d.User, d.Raw, d.CID, orNever(d.Expires), sqldb.MS(d.UpdatedAt))
		return err
	})
	if err != nil {
		return fmt.Errorf("put delegation: %w", err)
	}
	return nil
}

// orNever stores the zero time as 0.
func orNever(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(sqldb.MS(t), 1)
}

// Delegation implements identity.Store.
func (s *Store) Delegation(ctx context.Context, user string) (identity.StoredDelegation, bool, error) {
	d := identity.StoredDelegation{User: user}
	var expires, updated int64
	err := s.db.Read().QueryRowContext(ctx, `SELECT raw, cid, expires_ms, updated_ms FROM identity_delegations
		WHERE user_did = $1`, user).Scan(&d.Raw, &d.CID, &expires, &updated)
	if errors.Is(err, sql.ErrNoRows) {
		return identity.StoredDelegation{}, false, nil
	}
	if err != nil {
		return identity.StoredDelegation{}, false, fmt.Errorf("read delegation: %w", err)
	}
	if expires != 0 {
		d.Expires = sqldb.Time(expires)
	}
	d.UpdatedAt = sqldb.Time(updated)
	return d, true, nil
}

// Delegators lists who has deposited a delegation, in order, after one.
func (s *Store) Delegators(ctx context.Context, after string, limit int) ([]string, error) {
	return sqldb.Strings(ctx, s.db.Read(), `SELECT user_did FROM identity_delegations WHERE user_did > $1 ORDER BY user_did LIMIT $2`, after, limit)
}

// DeleteDelegation implements identity.Store.
func (s *Store) DeleteDelegation(ctx context.Context, user string) error {
	err := s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM identity_delegations WHERE user_did = $1`, user)
		return err
	})
	if err != nil {
		return fmt.Errorf("delete delegation: %w", err)
	}
	return nil
}

// Sweep implements identity.Store.
func (s *Store) Sweep(ctx context.Context, before time.Time, limit int) (int, error) {
	var total int64
	err := s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		total = 0
		for _, statement := range []string{
			`DELETE FROM identity_marks WHERE mark IN
				(SELECT mark FROM identity_marks WHERE until_ms < $1 ORDER BY until_ms LIMIT $2)`,
			`DELETE FROM identity_delegations WHERE user_did IN
				(SELECT user_did FROM identity_delegations WHERE expires_ms > 0 AND expires_ms < $1 ORDER BY expires_ms LIMIT $2)`,
			// App keys that ended are listed for another 30 days.
			`DELETE FROM identity_app_keys WHERE id IN
				(SELECT id FROM identity_app_keys WHERE ends_ms < $1 - 2592000000 ORDER BY ends_ms LIMIT $2)`,
			`DELETE FROM identity_setup_links WHERE digest IN
				(SELECT digest FROM identity_setup_links WHERE expires_ms < $1 ORDER BY expires_ms LIMIT $2)`,
		} {
			result, err := tx.ExecContext(ctx, statement, sqldb.MS(before), int64(limit)-total)
			if err != nil {
				return err
			}
			n, err := result.RowsAffected()
			if err != nil {
				return err
			}
			total += n
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("sweep identity: %w", err)
	}
	return int(total), nil
}

// SweepRevocations implements identity.Store.
func (s *Store) SweepRevocations(ctx context.Context, before time.Time,
	limit int,
) (forgotten int, applied time.Time, err error) {
	err = s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		now, err := s.db.NowIn(ctx, tx)
		if err != nil {
			return err
		}
		if applied = before; now.Before(before) {
			applied = now
		}
		result, err := tx.ExecContext(ctx, `DELETE FROM identity_revocations WHERE feed IN
			(SELECT feed FROM identity_revocations WHERE until_ms > 0 AND until_ms < $1 ORDER BY until_ms LIMIT $2)`,
			sqldb.MS(applied), limit)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		forgotten = int(n)
		return err
	})
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("sweep revocations: %w", err)
	}
	return forgotten, applied, nil
}
