package ussdsql

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdcount"
)

// SaveMenu implements ussd.Store.
func (s *Store) SaveMenu(ctx context.Context, version string, source []byte, now time.Time) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO ussd_menus (version, source, created_ms) VALUES ($1, $2, $3) ON CONFLICT (version) DO NOTHING`,
			version, source, sqldb.MS(now))
		return wrap("store menu", err)
	})
}

// Menu implements ussd.Store.
func (s *Store) Menu(ctx context.Context, version string) ([]byte, error) {
	var source []byte
	err := s.db.Read().QueryRowContext(ctx, `SELECT source FROM ussd_menus WHERE version = $1`, version).Scan(&source)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ussd.ErrNoMenu
	}
	if err != nil {
		return nil, fmt.Errorf("read menu: %w", err)
	}
	return source, nil
}

// Active implements ussd.Store.
func (s *Store) Active(ctx context.Context, now time.Time, limit int) (ids []string, total int, err error) {
	if err := s.db.Read().QueryRowContext(ctx, `SELECT COUNT(*) FROM ussd_sessions WHERE status = 0 AND expires_ms > $1`,
		sqldb.MS(now)).Scan(&total); err != nil {
		return nil, 0, fmt.Errorf("count sessions: %w", err)
	}
	rows, err := s.db.Read().QueryContext(ctx, `SELECT id FROM ussd_sessions WHERE status = 0 AND expires_ms > $1
		ORDER BY expires_ms DESC, id LIMIT $2`, sqldb.MS(now), limit)
	if err != nil {
		return nil, 0, fmt.Errorf("list sessions: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	ids = []string{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, 0, fmt.Errorf("list sessions: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, total, wrap("list sessions", rows.Err())
}

// Recent implements ussd.Store.
func (s *Store) Recent(ctx context.Context, now time.Time, limit int) (_ []*ussd.Session, err error) {
	rows, err := s.db.Read().QueryContext(ctx, s.session+`WHERE expires_ms > $1
		ORDER BY expires_ms DESC, id LIMIT $2`, sqldb.MS(now), limit)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var out []*ussd.Session
	for rows.Next() {
		one, err := scanSession(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, wrap("list sessions", rows.Err())
}

// Sweep implements ussd.Store.
func (s *Store) Sweep(ctx context.Context, before, activeBefore time.Time, limit int) ([]ussd.Swept, error) {
	var out []ussd.Swept
	for len(out) < limit {
		// Look first: an idle gateway must not write every few seconds.
		var due int
		err := s.db.Read().QueryRowContext(ctx, `SELECT COUNT(*) FROM (SELECT 1 AS one FROM ussd_sessions
			WHERE due_ms <= $1 LIMIT 1) due`, sqldb.MS(before)).Scan(&due)
		if err != nil {
			return out, fmt.Errorf("look for expired sessions: %w", err)
		}
		if due == 0 {
			break
		}
		swept, err := s.sweepSlice(ctx, before, activeBefore, limit-len(out))
		if err != nil {
			return out, err
		}
		out = append(out, swept...)
	}
	return out, nil
}

// sweepSlice looks at up to limit sessions that are due. Those that are over are removed;
// the others were used since, or may be offered again: they are looked at when they expire.
func (s *Store) sweepSlice(ctx context.Context, before, activeBefore time.Time, limit int) ([]ussd.Swept, error) {
	const over = `expires_ms <= $1 AND (status <> 0 OR expires_ms <= $2)`
	const due = `id IN (SELECT id FROM ussd_sessions WHERE due_ms <= $1 ORDER BY due_ms LIMIT $3)`
	var out []ussd.Swept
	err := s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) (err error) {
		out = nil
		args := []any{sqldb.MS(before), sqldb.MS(activeBefore), limit}
		_, err = tx.ExecContext(ctx, `UPDATE ussd_sessions
			SET due_ms = CASE WHEN expires_ms > $1 THEN expires_ms ELSE expires_ms + $1 - $2 END
			WHERE NOT (`+over+`) AND `+due, args...)
		if err != nil {
			return fmt.Errorf("put off sessions: %w", err)
		}
		rows, err := tx.QueryContext(ctx, `DELETE FROM ussd_sessions WHERE `+over+` AND `+due+` RETURNING menu, screen, status`, args...)
		if err != nil {
			return fmt.Errorf("remove sessions: %w", err)
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		for rows.Next() {
			var gone ussd.Swept
			if err := rows.Scan(&gone.Menu, &gone.Screen, &gone.Status); err != nil {
				return fmt.Errorf("remove sessions: %w", err)
			}
			out = append(out, gone)
		}
		return wrap("remove sessions", rows.Err())
	})
	return out, err
}

// Prune implements ussd.Store. Nodes that prune at the same time wait for each other
// and find nothing left to do.
func (s *Store) Prune(ctx context.Context, before time.Time, limit int) (more bool, err error) {
	day, ms := before.UTC().Format(time.DateOnly), sqldb.MS(before)
	now, err := s.db.Now(ctx)
	if err != nil {
		return false, err
	}
	for _, one := range []struct {
		what, text string
		before     any
	}{
		{"counts", `DELETE FROM ussd_counts WHERE (day, menu, kind, from_screen, to_screen) IN (
			SELECT day, menu, kind, from_screen, to_screen FROM ussd_counts WHERE day < $1 ORDER BY day LIMIT $2)`, day},
		{"questions", `DELETE FROM ussd_questions WHERE state >= 2 AND updated_ms < $1 AND id IN (
			SELECT id FROM ussd_questions WHERE state >= 2 AND updated_ms < $1 ORDER BY updated_ms LIMIT $2)`, ms},
		{"PIN checks", `DELETE FROM ussd_pin_checks WHERE lapses_ms <= $1 AND (subject, origin, session) IN (
			SELECT subject, origin, session FROM ussd_pin_checks WHERE lapses_ms <= $1 ORDER BY lapses_ms LIMIT $2)`, sqldb.MS(now)},
		{"text messages", `DELETE FROM ussd_sms WHERE state <> 'waiting' AND created_ms < $1 AND id IN (
			SELECT id FROM ussd_sms WHERE state <> 'waiting' AND created_ms < $1 ORDER BY created_ms LIMIT $2)`, ms},
		{"received text messages", `DELETE FROM ussd_sms_received WHERE id IN (
			SELECT id FROM ussd_sms_received WHERE at_ms < $1 ORDER BY at_ms LIMIT $2)`, ms},
		{"days of text messages", `DELETE FROM ussd_sms_days WHERE (day, phone) IN (
			SELECT day, phone FROM ussd_sms_days WHERE day < $1 ORDER BY day LIMIT $2)`, day},
		{"attempts", `DELETE FROM ussd_attempts WHERE updated_ms < $1 AND locked_until_ms < $1 AND (subject, origin) IN (
			SELECT subject, origin FROM ussd_attempts WHERE updated_ms < $1 AND locked_until_ms < $1 ORDER BY updated_ms LIMIT $2)`, ms},
	} {
		n, err := s.db.WriteOne(ctx, one.text, one.before, limit)
		if err != nil {
			return false, fmt.Errorf("prune %s: %w", one.what, err)
		}
		more = more || n == int64(limit)
	}
	return more, nil
}

// AddCounts implements ussd.Store.
func (s *Store) AddCounts(ctx context.Context, day string, counts map[ussdcount.Count]int64) error {
	// Every node locks the rows in the same order.
	order := slices.SortedFunc(maps.Keys(counts), func(a, b ussdcount.Count) int {
		return cmp.Or(strings.Compare(a.Menu, b.Menu), strings.Compare(a.Kind, b.Kind), strings.Compare(a.From, b.From),
			strings.Compare(a.To, b.To))
	})
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		for _, c := range order {
			n := counts[c]
			_, err := tx.ExecContext(ctx, `INSERT INTO ussd_counts (day, menu, kind, from_screen, to_screen, n) VALUES ($1, $2, $3, $4, $5, $6)
				ON CONFLICT (day, menu, kind, from_screen, to_screen) DO UPDATE SET n = ussd_counts.n + excluded.n`,
				day, c.Menu, c.Kind, c.From, c.To, n)
			if err != nil {
				return fmt.Errorf("add counts: %w", err)
			}
		}
		return nil
	})
}

// Counts implements ussd.Store.
func (s *Store) Counts(ctx context.Context, fromDay string) (_ map[ussdcount.Count]int64, err error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT menu, kind, from_screen, to_screen, CAST(SUM(n) AS BIGINT) FROM ussd_counts
		WHERE day >= $1 GROUP BY menu, kind, from_screen, to_screen`, fromDay)
	if err != nil {
		return nil, fmt.Errorf("read counts: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out := map[ussdcount.Count]int64{}
	for rows.Next() {
		var c ussdcount.Count
		var n int64
		if err := rows.Scan(&c.Menu, &c.Kind, &c.From, &c.To, &n); err != nil {
			return nil, fmt.Errorf("read counts: %w", err)
		}
		out[c] = n
	}
	return out, wrap("read counts", rows.Err())
}

// Begun returns how many sessions began on each day from one on.
func (s *Store) Begun(ctx context.Context, fromDay string) (_ map[string]int64, err error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT day, CAST(SUM(n) AS BIGINT) FROM ussd_counts
		WHERE kind = $1 AND day >= $2 GROUP BY day`, ussdcount.CountBegun, fromDay)
	if err != nil {
		return nil, fmt.Errorf("read days: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out := map[string]int64{}
	for rows.Next() {
		var day string
		var n int64
		if err := rows.Scan(&day, &n); err != nil {
			return nil, fmt.Errorf("read days: %w", err)
		}
		out[day] = n
	}
	return out, wrap("read days", rows.Err())
}
