// Package pluginsql keeps the records of plugins in the oracle's tables.
//
// It promises what plugin.Store promises: keys in the order of their bytes, transactions
// that are tried again when they conflict, and that what has expired is not there. Whose
// plugin a record is of is part of every statement.
package pluginsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/plugin"
)

// Bounds of what plugins may store.
const (
	maxKey   = 512
	maxValue = 1 << 20
	maxScan  = 1000
)

// Keys is the plugin.Store of one plugin.
type Keys struct {
	DB     *sqldb.DB
	Plugin string
	// Report tells what happened to a user, in the transaction of that.
	Report func(ctx context.Context, tx sqldb.Querier, did, event string, at time.Time, data any) error
}

var _ plugin.Store = Keys{}

// In is the records in a transaction of the caller's, at a time of the database's.
func (k Keys) In(tx sqldb.Querier, now time.Time) plugin.Tx {
	return &keysTx{Keys: k, tx: tx, now: now}
}

// Get returns the value of a key.
func (k Keys) Get(ctx context.Context, key string) ([]byte, bool, error) {
	now, err := k.DB.Now(ctx)
	if err != nil {
		return nil, false, err
	}
	return (&keysTx{Keys: k, tx: k.DB.Read(), now: now}).Get(ctx, key)
}

// Scan returns entries in key order.
func (k Keys) Scan(ctx context.Context, r plugin.Range) ([]plugin.Entry, error) {
	now, err := k.DB.Now(ctx)
	if err != nil {
		return nil, err
	}
	return (&keysTx{Keys: k, tx: k.DB.Read(), now: now}).Scan(ctx, r)
}

// Update runs fn in a serialisable transaction.
func (k Keys) Update(ctx context.Context, fn func(ctx context.Context, tx plugin.Tx) error) error {
	return k.DB.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		now, err := k.DB.NowIn(ctx, tx)
		if err != nil {
			return err
		}
		return fn(ctx, &keysTx{Keys: k, tx: tx, now: now})
	})
}

type keysTx struct {
	Keys
	tx  sqldb.Querier
	now time.Time
}

var _ plugin.EventTx = (*keysTx)(nil)

// Now is the database's clock.
func (k *keysTx) Now() time.Time { return k.now }

// Emit reports what happened to a user, in this transaction.
func (k *keysTx) Emit(ctx context.Context, e plugin.Event) error {
	return k.Report(ctx, k.tx, e.UserDID, e.Type, k.now, e.Data)
}

// Get returns the value of a key.
func (k *keysTx) Get(ctx context.Context, key string) ([]byte, bool, error) {
	var value []byte
	err := k.tx.QueryRowContext(ctx, `SELECT value FROM oracle_plugin_keys
		WHERE plugin = $1 AND key = $2 AND (expires_ms = 0 OR expires_ms > $3)`, k.Plugin, key, sqldb.MS(k.now)).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read key: %w", err)
	}
	return value, true, nil
}

// Put stores a value.
func (k *keysTx) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if key == "" || len(key) > maxKey || !utf8.ValidString(key) {
		return fault.New(fault.Invalid, "a key must be UTF-8 of 1 to 512 bytes")
	}
	if len(value) > maxValue {
		return fault.New(fault.TooLarge, "a value must have at most 1 MiB")
	}
	expires := int64(0)
	if ttl > 0 {
		expires = sqldb.MS(k.now.Add(ttl))
	}
	if value == nil {
		value = []byte{}
	}
	_, err := k.tx.ExecContext(ctx, `INSERT INTO oracle_plugin_keys (plugin, key, value, expires_ms) VALUES ($1, $2, $3, $4)
		ON CONFLICT (plugin, key) DO UPDATE SET value = excluded.value, expires_ms = excluded.expires_ms`,
		k.Plugin, key, value, expires)
	if err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	return nil
}

// Delete forgets a key.
func (k *keysTx) Delete(ctx context.Context, key string) error {
	if _, err := k.tx.ExecContext(ctx, `DELETE FROM oracle_plugin_keys WHERE plugin = $1 AND key = $2`, k.Plugin, key); err != nil {
		return fmt.Errorf("delete key: %w", err)
	}
	return nil
}

// Scan returns entries in key order. A prefix is a range of keys: from itself
// to its successor, compared by bytes.
func (k *keysTx) Scan(ctx context.Context, r plugin.Range) ([]plugin.Entry, error) {
	limit := r.Limit
	if limit <= 0 || limit > maxScan {
		limit = maxScan
	}
	text := `SELECT key, value FROM oracle_plugin_keys WHERE plugin = $1 AND key >= $2 AND (expires_ms = 0 OR expires_ms > $3)`
	args := []any{k.Plugin, r.Prefix, sqldb.MS(k.now)}
	add := func(condition string, arg any) {
		args = append(args, arg)
		text += fmt.Sprintf(condition, len(args))
	}
	if end, bounded := successor(r.Prefix); bounded {
		add(` AND key < $%d`, end)
	}
	order := `ASC`
	switch {
	case r.Reverse && r.After != "":
		add(` AND key < $%d`, r.After)
	case r.After != "":
		add(` AND key > $%d`, r.After)
	}
	if r.Reverse {
		order = `DESC`
	}
	add(` ORDER BY key `+order+` LIMIT $%d`, limit)
	rows, err := k.tx.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, fmt.Errorf("scan keys: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var list []plugin.Entry
	for rows.Next() {
		var e plugin.Entry
		if err := rows.Scan(&e.Key, &e.Value); err != nil {
			return nil, fmt.Errorf("read key: %w", err)
		}
		list = append(list, e)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	return list, nil
}

// successor returns the first UTF-8 text after all texts with the prefix. Text
// columns take valid UTF-8 only, so the last rune is raised, not the last byte.
func successor(prefix string) (string, bool) {
	runes := []rune(prefix)
	for i, last := range slices.Backward(runes) {
		next := last + 1
		if next == 0xD800 {
			next = 0xE000
		}
		if next <= utf8.MaxRune {
			return string(append(runes[:i:i], next)), true
		}
	}
	return "", false
}
