package sqldb

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Check looks for damage and for tables that break the house rules, and
// returns what it found, in words. A deep check reads every page and index and
// may take as long as the database is large. It may run beside live nodes.
//
// On SQLite the file's own checks are run; on PostgreSQL, whose operators have
// better means, only invalid indexes are looked for. The house rules: text is
// compared by its bytes, and SQLite's tables are STRICT.
func (db *DB) Check(ctx context.Context, deep bool) ([]string, error) {
	var queries []string
	switch {
	case db.dialect == Postgres:
		queries = []string{postgresLoose, postgresInvalid}
	case deep:
		queries = []string{sqliteLoose, `SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'`, sqliteOrphans}
	default:
		queries = []string{sqliteLoose, `SELECT quick_check FROM pragma_quick_check WHERE quick_check <> 'ok'`}
	}
	var found []string
	for _, query := range queries {
		problems, err := column(ctx, db.Read(), query)
		if err != nil {
			return found, fmt.Errorf("check database: %w", err)
		}
		found = append(found, problems...)
	}
	return found, nil
}

const (
	sqliteLoose = `SELECT 'table ' || name || ' is not STRICT' FROM pragma_table_list
		WHERE schema = 'main' AND type = 'table' AND strict = 0 AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name`
	sqliteOrphans = `SELECT 'row ' || COALESCE(rowid, '?') || ' of ' || "table" || ' refers to nothing in ' || parent
		FROM pragma_foreign_key_check LIMIT 100`
	postgresLoose = `SELECT 'column ' || c.relname || '.' || a.attname || ' is not compared by its bytes'
		FROM pg_catalog.pg_attribute a
		JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		JOIN pg_catalog.pg_type y ON y.oid = a.atttypid
		LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation
		WHERE c.relkind IN ('r', 'p') AND n.nspname = current_schema() AND a.attnum > 0 AND NOT a.attisdropped
		AND y.typname IN ('text', 'varchar', 'bpchar') AND l.collname <> 'C' ORDER BY 1`
	postgresInvalid = `SELECT 'index ' || c.relname || ' is invalid' FROM pg_catalog.pg_index i
		JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE NOT i.indisvalid AND n.nspname = current_schema() ORDER BY 1`
)

// column returns the texts of a one-column query.
func column(ctx context.Context, q Querier, query string, args ...any) (_ []string, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var all []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		all = append(all, strings.TrimSpace(s))
	}
	return all, rows.Err()
}
