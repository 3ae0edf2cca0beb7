package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

const (
	// maxCounted bounds what is counted of a table where the engine has no estimate.
	maxCounted = 5_000_000
	// maxDue bounds what is counted for people.
	maxDue = 10_000
	// Growth is the mean of the last growthDays, and measurements are kept a little longer.
	growthDays, keptDays = 30, 60
	// maxTables bounds the answer.
	maxTables = 500
)

// Table is what a table holds.
type Table struct {
	Name string `json:"name"`
	// Rows is what was last measured, an estimate on PostgreSQL; Bytes are with its
	// indexes, and 0 where the engine does not tell.
	Rows  int64 `json:"rows"`
	Bytes int64 `json:"bytes,omitempty"`
	// RowsADay and BytesADay are by how much it grew of late; absent until it was measured twice.
	RowsADay  *int64 `json:"rowsADay,omitempty"`
	BytesADay *int64 `json:"bytesADay,omitempty"`
	// Day is when it was measured.
	Day string `json:"day"`
}

// Due is what the next sweep would erase of a table.
type Due struct {
	Table string `json:"table"`
	Rows  int    `json:"rows"`
	// More says that there are more than those.
	More bool `json:"more,omitempty"`
}

// State is what a class has in force, and what the next sweep would erase.
type State struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
	// Keep is how long records are kept; empty is for ever.
	Keep string `json:"keep,omitempty"`
	// Moves says that records are moved, and not erased.
	Moves bool  `json:"moves,omitempty"`
	Due   []Due `json:"due"`
}

type measured struct {
	name        string
	rows, bytes int64
}

// Measure writes down what each table holds today.
func (k *Keeper) Measure(ctx context.Context) error {
	now, err := k.DB.Now(ctx)
	if err != nil {
		return err
	}
	look := k.counted
	if k.DB.Dialect() == sqldb.Postgres {
		look = k.estimated
	}
	all, err := look(ctx)
	if err != nil {
		return fmt.Errorf("measure tables: %w", err)
	}
	day := dayOf(now)
	return k.DB.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		for _, m := range all {
			_, err := tx.ExecContext(ctx, `INSERT INTO platform_growth (name, day, rows, bytes) VALUES ($1, $2, $3, $4)
				ON CONFLICT (name, day) DO UPDATE SET rows = excluded.rows, bytes = excluded.bytes`, m.name, day, m.rows, m.bytes)
			if err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM platform_growth WHERE day < $1`, day-keptDays)
		return err
	})
}

func dayOf(t time.Time) int64 { return t.UnixMilli() / (24 * time.Hour).Milliseconds() }

// estimated asks PostgreSQL, which knows without looking.
func (k *Keeper) estimated(ctx context.Context) ([]measured, error) {
	return list(ctx, k.DB.Read(), func(m *measured) []any { return []any{&m.name, &m.rows, &m.bytes} },
		`SELECT c.relname, GREATEST(CASE WHEN s.n_live_tup > 0 THEN s.n_live_tup ELSE c.reltuples::bigint END, 0), pg_total_relation_size(c.oid)
		FROM pg_class c LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid
		WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace ORDER BY c.relname LIMIT $1`, maxTables)
}

// counted counts the rows of each table of SQLite, once a day and up to a bound.
func (k *Keeper) counted(ctx context.Context) ([]measured, error) {
	names, err := sqldb.Strings(ctx, k.DB.Read(), `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name LIMIT $1`, maxTables)
	if err != nil {
		return nil, err
	}
	all := make([]measured, len(names))
	for i, name := range names {
		all[i].name = name
		if err := k.DB.Read().QueryRowContext(ctx, `SELECT COUNT(*) FROM (SELECT 1 FROM "`+name+`" LIMIT $1)`, maxCounted).Scan(&all[i].rows); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Tables tells what each table held when it was last measured, and how fast it grows.
func (k *Keeper) Tables(ctx context.Context) ([]Table, error) {
	type sample struct {
		measured
		day int64
	}
	now, err := k.DB.Now(ctx)
	if err != nil {
		return nil, err
	}
	samples, err := list(ctx, k.DB.Read(), func(s *sample) []any { return []any{&s.name, &s.day, &s.rows, &s.bytes} },
		`SELECT name, day, rows, bytes FROM platform_growth WHERE day >= $1 ORDER BY name, day`, dayOf(now)-growthDays)
	if err != nil {
		return nil, fmt.Errorf("read what tables held: %w", err)
	}
	out := []Table{}
	for i := 0; i < len(samples); {
		first, last := samples[i], samples[i]
		for ; i < len(samples) && samples[i].name == first.name; i++ {
			last = samples[i]
		}
		t := Table{
			Name: last.name, Rows: last.rows, Bytes: last.bytes,
			Day: time.UnixMilli(last.day * (24 * time.Hour).Milliseconds()).UTC().Format(time.DateOnly),
		}
		if days := last.day - first.day; days > 0 {
			rows, bytes := (last.rows-first.rows)/days, (last.bytes-first.bytes)/days
			t.RowsADay = &rows
			if last.bytes > 0 {
				t.BytesADay = &bytes
			}
		}
		out = append(out, t)
	}
	return out, nil
}

// States tells what is in force, and what a sweep would erase now, counted up to a bound.
// Proposed rules are looked at instead of those in force where they are not nil.
func (k *Keeper) States(ctx context.Context, proposed Rules) ([]State, error) {
	now, err := k.DB.Now(ctx)
	if err != nil {
		return nil, err
	}
	rules := proposed
	if rules == nil {
		rules = k.Rules()
	}
	var out []State
	for _, c := range Classes() {
		s := State{Name: c.Name, Doc: c.Doc, Due: []Due{}}
		keep, ok := rules[c.Name]
		for _, source := range k.Sources[c.Name] {
			d := Due{Table: source.Table()}
			if _, moves := source.(Mover); moves {
				s.Moves = true
			}
			if ok {
				n, all, err := source.Count(ctx, now.Add(-keep), maxDue)
				if err != nil {
					return nil, err
				}
				d.Rows, d.More = n, !all
			}
			s.Due = append(s.Due, d)
		}
		if ok {
			s.Keep = config.FormatDuration(keep)
		}
		out = append(out, s)
	}
	return out, nil
}

// list reads rows.
func list[T any](ctx context.Context, from sqldb.Querier, into func(*T) []any, query string,
	args ...any,
) (out []T, err error) {
	rows, err := from.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var one T
		if err := rows.Scan(into(&one)...); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, rows.Err()
}
