package pgadmin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

const (
	// distinct is how many values a column of names has at least. Those with fewer
	// tell kinds and states apart, which copies share.
	distinct = 20
	// mostCopies is how many different endings there are.
	mostCopies = 1728
	// copiesAtOnce are made by one statement.
	copiesAtOnce = 10
)

// Copied is a table of which copies were made.
type Copied struct {
	Name         string
	Before, Rows int64
}

// stock is a table that is copied, and the values of its copies.
type stock struct {
	table  string
	rows   int64
	names  []string
	values []string
}

// Multiply copies the rows of every table that has least of them or more, each time under
// other names, until the database has as many rows as are wanted. Names that belong
// together get the same ending wherever they are, so that a copied person has copied
// conversations and files. Leases and queues are left alone: who would do that work?
func Multiply(ctx context.Context, databaseURL string, least, want int64) (copied []Copied, err error) {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	stocks, err := stocksOf(ctx, conn, least)
	if err != nil {
		return nil, err
	}
	var originals int64
	for _, s := range stocks {
		originals += s.rows
	}
	if originals == 0 || want/originals > mostCopies {
		return nil, fmt.Errorf("%d rows are too few to become %d", originals, want)
	}
	var there int64
	for _, s := range stocks {
		if err := s.copy(ctx, conn, want/originals-1); err != nil {
			return nil, fmt.Errorf("copy %s: %w", s.table, err)
		}
		c := Copied{Name: s.table, Before: s.rows}
		if err := conn.QueryRow(ctx, "SELECT count(*) FROM "+s.table).Scan(&c.Rows); err != nil {
			return nil, err
		}
		there += c.Rows
		copied = append(copied, c)
	}
	if there < want/10*8 {
		return nil, fmt.Errorf("%d rows are there, want %d: too many copies met a name that was there", there, want)
	}
	_, err = conn.Exec(ctx, "VACUUM ANALYZE")
	return copied, err
}

// stocksOf returns the tables that have a row for most people at least.
func stocksOf(ctx context.Context, conn *pgx.Conn, least int64) ([]*stock, error) {
	rows, err := conn.Query(ctx, `SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
		AND relname NOT LIKE '%_migrations' AND relname NOT IN ('platform_leases', 'queue_items') ORDER BY relname`)
	if err != nil {
		return nil, err
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	var found []*stock
	for _, table := range tables {
		s := &stock{table: table}
		if err := conn.QueryRow(ctx, "SELECT count(*) FROM "+table).Scan(&s.rows); err != nil {
			return nil, err
		}
		if s.rows < least {
			continue
		}
		if err := s.learn(ctx, conn); err != nil {
			return nil, fmt.Errorf("%s: %w", table, err)
		}
		found = append(found, s)
	}
	return found, nil
}

// learn finds the columns of the table, and which of them name something.
func (s *stock) learn(ctx context.Context, conn *pgx.Conn) error {
	type column struct {
		Name, Kind    string
		Indexed, Only bool
	}
	rows, err := conn.Query(ctx, `SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS kind,
			EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = a.attrelid AND a.attnum = ANY (i.indkey)) AS indexed,
			EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indisunique AND i.indnatts = 1 AND a.attnum = i.indkey[0]) AS only
		FROM pg_attribute a WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`, s.table)
	if err != nil {
		return err
	}
	columns, err := pgx.CollectRows(rows, pgx.RowToStructByName[column])
	if err != nil {
		return err
	}
	for _, c := range columns {
		value := "o." + c.Name
		switch {
		case c.Indexed && c.Kind == "text":
			var values int64
			if err := conn.QueryRow(ctx, fmt.Sprintf("SELECT count(DISTINCT %s) FROM %s", c.Name, s.table)).Scan(&values); err != nil {
				return err
			}
			if values >= min(distinct, s.rows) {
				value = renamed(value)
			}
		case c.Only && c.Kind == "bigint":
			value = fmt.Sprintf("o.%s + k * 10000000000", c.Name)
		case c.Only && c.Kind == "bytea":
			value = fmt.Sprintf("o.%[1]s || int4send(k)", c.Name)
		}
		s.names, s.values = append(s.names, c.Name), append(s.values, value)
	}
	return nil
}

// renamed is a name of the k-th copy. Long names, such as identifiers and DIDs, keep
// their form; numbers and paths get longer.
func renamed(value string) string {
	const signs = "'234567abcdef'" // in hexadecimal, base32 and base58 alike
	sign := func(of int) string { return fmt.Sprintf("substr(%s, k / %d %% 12 + 1, 1)", signs, of) }
	ending := strings.Join([]string{sign(144), sign(12), sign(1)}, " || ")
	return fmt.Sprintf("CASE WHEN %[1]s = '' THEN '' WHEN length(%[1]s) >= 32 THEN left(%[1]s, -3) || %[2]s ELSE %[1]s || lpad(k::text, 4, '0') END",
		value, ending)
}

// copy adds so many copies of all rows.
func (s *stock) copy(ctx context.Context, conn *pgx.Conn, copies int64) error {
	originals := "originals_of_" + s.table
	if _, err := conn.Exec(ctx, fmt.Sprintf("CREATE TEMPORARY TABLE %s AS SELECT * FROM %s", originals, s.table)); err != nil {
		return err
	}
	text := fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s o, generate_series($1::int, $2::int) k ON CONFLICT DO NOTHING",
		s.table, strings.Join(s.names, ", "), strings.Join(s.values, ", "), originals)
	for from := int64(1); from <= copies; from += copiesAtOnce {
		if _, err := conn.Exec(ctx, text, from, min(from+copiesAtOnce-1, copies)); err != nil {
			return err
		}
	}
	_, err := conn.Exec(ctx, "DROP TABLE "+originals)
	return err
}

// RowsRead is how many rows and entries of indexes each table has handed to statements,
// by the database's own count, which is some seconds behind.
func RowsRead(ctx context.Context, databaseURL string) (read map[string]int64, err error) {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	rows, err := conn.Query(ctx, `SELECT t.relname, t.seq_tup_read + coalesce((SELECT sum(i.idx_tup_read) FROM pg_stat_user_indexes i
		WHERE i.relid = t.relid), 0)::bigint FROM pg_stat_user_tables t`)
	if err != nil {
		return nil, err
	}
	read = map[string]int64{}
	var table string
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&table, &n}, func() error {
		read[table] = n
		return nil
	})
	return read, err
}
