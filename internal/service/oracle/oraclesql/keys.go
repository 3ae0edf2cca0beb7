package oraclesql

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
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
	"github.com/castalia-org/castalia/plugin"
)

// Bounds of what plugins may store.
const (
	maxKey   = 512
	maxValue = 1 << 20
	maxScan  = 1000
)

// PluginStore returns the records of one plugin.
func (st *Store) PluginStore(name string) plugin.Store { return &keys{st: st, plugin: name} }

// keys is the plugin.Store of one plugin.
type keys struct {
	st     *Store
	plugin string
}

var _ plugin.Store = (*keys)(nil)

// Get returns the value of a key.
func (k *keys) Get(ctx context.Context, key string) ([]byte, bool, error) {
	now, err := k.st.db.Now(ctx)
	if err != nil {
		return nil, false, err
	}
	return (&keysTx{keys: k, tx: k.st.db.Read(), now: now}).Get(ctx, key)
}

// Scan returns entries in key order.
func (k *keys) Scan(ctx context.Context, r plugin.Range) ([]plugin.Entry, error) {
	now, err := k.st.db.Now(ctx)
	if err != nil {
		return nil, err
	}
	return (&keysTx{keys: k, tx: k.st.db.Read(), now: now}).Scan(ctx, r)
}

// Update runs fn in a serialisable transaction.
func (k *keys) Update(ctx context.Context, fn func(ctx context.Context, tx plugin.Tx) error) error {
	return k.st.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		now, err := k.st.db.NowIn(ctx, tx)
		if err != nil {
			return err
		}
		return fn(ctx, &keysTx{keys: k, tx: tx, now: now})
	})
}

// mark stores records in a transaction of the caller's.
func (st *Store) mark(ctx context.Context, tx sqldb.Querier, marks []run.Mark) error {
	if len(marks) == 0 {
		return nil
	}
	now, err := st.db.NowIn(ctx, tx)
	if err != nil {
		return err
	}
	for _, m := range marks {
		k := keysTx{keys: &keys{st: st, plugin: m.Store}, tx: tx, now: now}
		if err := k.Put(ctx, m.Key, m.Value, m.For); err != nil {
			return err
		}
	}
	return nil
}

type keysTx struct {
	*keys
	tx  sqldb.Querier
	now time.Time
}

var _ plugin.EventTx = (*keysTx)(nil)

// Now is the database's clock.
func (k *keysTx) Now() time.Time { return k.now }

// Emit reports what happened to a user, in this transaction.
func (k *keysTx) Emit(ctx context.Context, e plugin.Event) error {
	return k.st.report(ctx, k.tx, e.UserDID, e.Type, k.now, e.Data)
}

// Get returns the value of a key.
func (k *keysTx) Get(ctx context.Context, key string) ([]byte, bool, error) {
	var value []byte
	err := k.tx.QueryRowContext(ctx, `SELECT value FROM oracle_plugin_keys
		WHERE plugin = $1 AND key = $2 AND (expires_ms = 0 OR expires_ms > $3)`, k.plugin, key, sqldb.MS(k.now)).Scan(&value)
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
		k.plugin, key, value, expires)
	if err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	return nil
}

// Delete forgets a key.
func (k *keysTx) Delete(ctx context.Context, key string) error {
	if _, err := k.tx.ExecContext(ctx, `DELETE FROM oracle_plugin_keys WHERE plugin = $1 AND key = $2`, k.plugin, key); err != nil {
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
	args := []any{k.plugin, r.Prefix, sqldb.MS(k.now)}
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
	return collect(rows, func(row scanner) (plugin.Entry, error) {
		var e plugin.Entry
		err := row.Scan(&e.Key, &e.Value)
		return e, err
	})
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

// Sweep deletes expired keys of all plugins and counts of long ago, a slice of each,
// and reports whether there may be more.
func (st *Store) Sweep(ctx context.Context, limit int) (more bool, err error) {
	now, err := st.db.Now(ctx)
	if err != nil {
		return false, err
	}
	for _, one := range []struct {
		what, text string
		before     int64
	}{
		{"keys", `DELETE FROM oracle_plugin_keys WHERE expires_ms > 0 AND expires_ms <= $1 AND (plugin, key) IN (
			SELECT plugin, key FROM oracle_plugin_keys WHERE expires_ms > 0 AND expires_ms <= $1 ORDER BY expires_ms LIMIT $2)`, sqldb.MS(now)},
		{"model usage", `DELETE FROM oracle_model_usage WHERE (day, owner, model, source) IN (
			SELECT day, owner, model, source FROM oracle_model_usage WHERE day < $1 ORDER BY day LIMIT $2)`, oracle.DayOf(now) - modelUsageDays},
		{"usage of days", `DELETE FROM oracle_day_usage WHERE (day, model, source) IN (
			SELECT day, model, source FROM oracle_day_usage WHERE day < $1 ORDER BY day LIMIT $2)`, oracle.DayOf(now) - modelUsageDays},
		{"usage of months", `DELETE FROM oracle_month_usage WHERE (month, owner) IN (
			SELECT month, owner FROM oracle_month_usage WHERE month < $1 ORDER BY month LIMIT $2)`, oracle.DayOf(now) - modelUsageDays},
		{"usage", `DELETE FROM oracle_usage WHERE (sponsor, day) IN (
			SELECT sponsor, day FROM oracle_usage WHERE day < $1 ORDER BY day LIMIT $2)`, oracle.DayOf(now) - usageDays},
	} {
		n, err := st.db.WriteOne(ctx, one.text, one.before, limit)
		if err != nil {
			return false, fmt.Errorf("sweep %s: %w", one.what, err)
		}
		more = more || n == int64(limit)
	}
	return more, nil
}
