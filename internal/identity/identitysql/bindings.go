package identitysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// BindingFeed numbers bindings of keys.
const BindingFeed = "identity_bindings"

// Bindings implements identity.Store.
func (s *Store) Bindings(ctx context.Context, after int64, limit int) (_ []identity.Binding, err error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT feed, key_did, person, lost, before_did, bound_by, at_ms
		FROM identity_bindings WHERE feed > $1 ORDER BY feed LIMIT $2`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list bindings: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var list []identity.Binding
	for rows.Next() {
		var b identity.Binding
		var lost, at int64
		if err := rows.Scan(&b.Feed, &b.Key, &b.Person, &lost, &b.Before, &b.By, &at); err != nil {
			return nil, fmt.Errorf("scan binding: %w", err)
		}
		b.Lost, b.At = lost != 0, sqldb.Time(at)
		list = append(list, b)
	}
	return list, rows.Err()
}

// Bind makes a new key sign in the name of a person, in whose transaction it is, and the
// one that did so far a lost one. A key that was ever bound, or is the name of somebody
// whose key was, is identity.ErrKeyTaken: there are no circles.
func (s *Store) Bind(ctx context.Context, tx sqldb.Querier, person, key, by string, at time.Time) error {
	if !identity.IsKey(person) || !identity.IsKey(key) {
		return identity.ErrNotAKey
	}
	// The counter's row is locked by the first number, so that two bindings take turns.
	feed, err := sqldb.NextFeed(ctx, tx, BindingFeed)
	if err != nil {
		return err
	}
	var taken int
	err = tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM identity_bindings WHERE key_did = $1 OR (key_did = $2 AND person <> $2)`,
		key, person).Scan(&taken)
	switch {
	case err != nil:
		return fmt.Errorf("look for bindings: %w", err)
	case taken > 0 || key == person:
		return identity.ErrKeyTaken
	}
	before := person
	err = tx.QueryRowContext(ctx, `SELECT key_did FROM identity_bindings WHERE person = $1 AND lost = 0`, person).Scan(&before)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		_, err = tx.ExecContext(ctx, `INSERT INTO identity_bindings (key_did, feed, person, lost, before_did, bound_by, at_ms)
			VALUES ($1, $2, $1, 1, '', $3, $4)`, person, feed, by, sqldb.MS(at))
	case err == nil:
		_, err = tx.ExecContext(ctx, `UPDATE identity_bindings SET lost = 1, feed = $1 WHERE key_did = $2`, feed, before)
	}
	if err != nil {
		return fmt.Errorf("let the lost key go: %w", err)
	}
	if feed, err = sqldb.NextFeed(ctx, tx, BindingFeed); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO identity_bindings (key_did, feed, person, lost, before_did, bound_by, at_ms)
		VALUES ($1, $2, $3, 0, $4, $5, $6)`, key, feed, person, before, by, sqldb.MS(at))
	if err != nil {
		return fmt.Errorf("bind key: %w", err)
	}
	return nil
}

// Unbind gives a person back the key whose place another one took, in whose transaction it
// is. The other one is lost from then on. Unless it is the one that signs now, it is
// identity.ErrNotBound.
func (s *Store) Unbind(ctx context.Context, tx sqldb.Querier, person, key string) error {
	feed, err := sqldb.NextFeed(ctx, tx, BindingFeed)
	if err != nil {
		return err
	}
	var before string
	err = tx.QueryRowContext(ctx, `UPDATE identity_bindings SET lost = 1, feed = $1
		WHERE key_did = $2 AND person = $3 AND lost = 0 AND before_did <> '' RETURNING before_did`, feed, key, person).Scan(&before)
	if errors.Is(err, sql.ErrNoRows) {
		return identity.ErrNotBound
	}
	if err != nil {
		return fmt.Errorf("unbind key: %w", err)
	}
	if feed, err = sqldb.NextFeed(ctx, tx, BindingFeed); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE identity_bindings SET lost = 0, feed = $1 WHERE key_did = $2`, feed, before)
	if err != nil {
		return fmt.Errorf("give the key before back: %w", err)
	}
	return nil
}
