// Package appkeysql keeps app keys in the database, in a table that identitysql's
// migrations make.
package appkeysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/identity/appkey"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// Store is an appkey.Store in a database whose migrations were applied.
type Store struct {
	db *sqldb.DB
}

var _ appkey.Store = (*Store)(nil)

// New returns a store.
func New(db *sqldb.DB) *Store { return &Store{db: db} }

const (
	columns = `id, maker, name, holder, scopes, delegation, proof, budget_tokens, budget_micros, spent_tokens, spent_micros,
		created_ms, expires_ms, revoked_ms, used_ms`
	day = 24 * time.Hour
)

// AddKey implements appkey.Store.
func (s *Store) AddKey(ctx context.Context, k appkey.Key, digest string) error {
	now := sqldb.MS(k.Created)
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		var active, made int
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM identity_app_keys WHERE maker = $1 AND ends_ms > $2`, k.Maker, now).Scan(&active); err != nil {
			return fmt.Errorf("count app keys: %w", err)
		}
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM identity_app_keys WHERE maker = $1 AND created_ms > $2`,
			k.Maker, sqldb.MS(k.Created.Add(-day))).Scan(&made); err != nil {
			return fmt.Errorf("count app keys of the day: %w", err)
		}
		if active >= appkey.MaxActive || made >= appkey.MaxMadePerDay {
			return appkey.ErrTooMany
		}
		// One that has expired gives its name free.
		if _, err := tx.ExecContext(ctx, `UPDATE identity_app_keys SET revoked_ms = expires_ms
			WHERE maker = $1 AND name = $2 AND revoked_ms = 0 AND expires_ms <= $3`, k.Maker, k.Name, now); err != nil {
			return fmt.Errorf("free the name: %w", err)
		}
		result, err := tx.ExecContext(ctx, `INSERT INTO identity_app_keys (`+columns+`, digest, ends_ms)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, 0, $10, $11, 0, 0, $12, $11) ON CONFLICT DO NOTHING`,
			k.ID, k.Maker, k.Name, k.DID, joinScopes(k.Scopes), k.Delegation, k.Proof, k.Budget.Tokens, k.Budget.Micros,
			now, sqldb.MS(k.Expires), digest)
		if err != nil {
			return fmt.Errorf("insert app key: %w", err)
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, appkey.ErrNameTaken)
		}
		return nil
	})
}

func joinScopes(scopes []appkey.Scope) string {
	words := make([]string, len(scopes))
	for i, s := range scopes {
		words[i] = string(s)
	}
	return strings.Join(words, " ")
}

func scan(row interface{ Scan(into ...any) error }) (k appkey.Key, err error) {
	var (
		scopes                          string
		created, expires, revoked, used int64
	)
	err = row.Scan(&k.ID, &k.Maker, &k.Name, &k.DID, &scopes, &k.Delegation, &k.Proof, &k.Budget.Tokens, &k.Budget.Micros,
		&k.Spent.Tokens, &k.Spent.Micros, &created, &expires, &revoked, &used)
	for word := range strings.FieldsSeq(scopes) {
		k.Scopes = append(k.Scopes, appkey.Scope(word))
	}
	k.Created, k.Expires = sqldb.Time(created), sqldb.Time(expires)
	k.Revoked, k.Used = timeOrNever(revoked), timeOrNever(used)
	return k, err
}

func timeOrNever(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return sqldb.Time(ms)
}

// KeyByDigest implements appkey.Store.
func (s *Store) KeyByDigest(ctx context.Context, digest string) (appkey.Key, bool, error) {
	return s.one(ctx, `digest = $1`, digest)
}

// Key implements appkey.Store.
func (s *Store) Key(ctx context.Context, maker, id string) (appkey.Key, bool, error) {
	return s.one(ctx, `maker = $1 AND id = $2`, maker, id)
}

func (s *Store) one(ctx context.Context, where string, args ...any) (appkey.Key, bool, error) {
	k, err := scan(s.db.Read().QueryRowContext(ctx, `SELECT `+columns+` FROM identity_app_keys WHERE `+where, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return appkey.Key{}, false, nil
	}
	if err != nil {
		return appkey.Key{}, false, fmt.Errorf("read app key: %w", err)
	}
	return k, true, nil
}

// HasKeys reports whether somebody ever made an app key, as q sees it.
func HasKeys(ctx context.Context, q sqldb.Querier, maker string) (has bool, err error) {
	err = q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM identity_app_keys WHERE maker = $1)`, maker).Scan(&has)
	if err != nil {
		return false, fmt.Errorf("look for app keys: %w", err)
	}
	return has, nil
}

// Keys implements appkey.Store.
func (s *Store) Keys(ctx context.Context, maker string, limit int) (_ []appkey.Key, err error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT `+columns+` FROM identity_app_keys
		WHERE maker = $1 ORDER BY created_ms DESC, id LIMIT $2`, maker, limit)
	if err != nil {
		return nil, fmt.Errorf("list app keys: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var list []appkey.Key
	for rows.Next() {
		k, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("scan app key: %w", err)
		}
		list = append(list, k)
	}
	return list, rows.Err()
}

// RevokeKey implements appkey.Store.
func (s *Store) RevokeKey(ctx context.Context, maker, id string, at time.Time) error {
	_, err := s.db.WriteOne(ctx, `UPDATE identity_app_keys SET revoked_ms = $1, ends_ms = CASE WHEN ends_ms < $1 THEN ends_ms ELSE $1 END
		WHERE maker = $2 AND id = $3 AND revoked_ms = 0`, max(sqldb.MS(at), 1), maker, id)
	if err != nil {
		return fmt.Errorf("revoke app key: %w", err)
	}
	return nil
}

// TouchKey implements appkey.Store.
func (s *Store) TouchKey(ctx context.Context, id string, at, after time.Time) error {
	_, err := s.db.WriteOne(ctx, `UPDATE identity_app_keys SET used_ms = $1 WHERE id = $2 AND used_ms <= $3`,
		sqldb.MS(at), id, sqldb.MS(after))
	if err != nil {
		return fmt.Errorf("note use of app key: %w", err)
	}
	return nil
}

// ReserveKey implements appkey.Store.
func (s *Store) ReserveKey(ctx context.Context, maker, id string,
	want appkey.Amount,
) (held appkey.Amount, ok bool, err error) {
	err = s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		held, ok = appkey.Amount{}, false
		var budget, spent appkey.Amount
		// It changes nothing: it makes others wait who read the same row.
		err := tx.QueryRowContext(ctx, `UPDATE identity_app_keys SET spent_tokens = spent_tokens WHERE maker = $1 AND id = $2
			RETURNING budget_tokens, budget_micros, spent_tokens, spent_micros`, maker, id).
			Scan(&budget.Tokens, &budget.Micros, &spent.Tokens, &spent.Micros)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read budget: %w", err)
		}
		for _, part := range []struct {
			held                *int64
			want, budget, spent int64
		}{{&held.Tokens, want.Tokens, budget.Tokens, spent.Tokens}, {
			&held.Micros, want.Micros, budget.Micros, spent.Micros,
		}} {
			if *part.held = part.want; part.budget == 0 {
				continue
			}
			left := part.budget - part.spent
			if left <= 0 {
				held = appkey.Amount{}
				return nil
			}
			*part.held = min(part.want, left)
		}
		ok = true
		if _, err := tx.ExecContext(ctx, `UPDATE identity_app_keys SET spent_tokens = spent_tokens + $1, spent_micros = spent_micros + $2 WHERE id = $3`,
			held.Tokens, held.Micros, id); err != nil {
			return fmt.Errorf("reserve budget: %w", err)
		}
		return nil
	})
	return held, ok && err == nil, err
}

// ChargeKey implements appkey.Store.
func (s *Store) ChargeKey(ctx context.Context, id string, used appkey.Amount) error {
	_, err := s.db.WriteOne(ctx, `UPDATE identity_app_keys SET spent_tokens = spent_tokens + $1, spent_micros = spent_micros + $2 WHERE id = $3`,
		used.Tokens, used.Micros, id)
	if err != nil {
		return fmt.Errorf("charge app key: %w", err)
	}
	return nil
}
