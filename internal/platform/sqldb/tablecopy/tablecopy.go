// Package tablecopy copies the tables of a database to another one, on either engine, and
// tells whether two have the same records.
package tablecopy

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// exportChunk is about how large a piece of an exported table gets.
const exportChunk = 1 << 20

// passing tables hold what means nothing elsewhere: who works on what now.
// Version tables are compared, not copied.
func passing(table string) bool {
	return table == "platform_leases" || table == "platform_slots" || table == "platform_backups" || strings.HasSuffix(table, "_migrations")
}

// Export hands out every row of every table, as they are at one moment, in
// pieces that Import takes on either engine. A piece is lines of JSON: the
// names of the columns, then one array for each row, in which bytes are
// {"b":"base64"} and truths are 1 and 0. It may run beside live nodes.
func Export(ctx context.Context, db *sqldb.DB, emit func(table string, piece []byte) error) error {
	return db.Snapshot(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		all, err := list(ctx, db, tx)
		if err != nil {
			return err
		}
		for _, table := range all {
			if err := exportTable(ctx, db, tx, table, emit); err != nil {
				return fmt.Errorf("export table %s: %w", table, err)
			}
		}
		return nil
	})
}

// list lists what is exported, by name.
func list(ctx context.Context, db *sqldb.DB, tx sqldb.Querier) ([]string, error) {
	query := `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name`
	if db.Dialect() == sqldb.Postgres {
		query = `SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			WHERE c.relkind = 'r' AND n.nspname = current_schema() ORDER BY c.relname COLLATE "C"`
	}
	names, err := sqldb.Strings(ctx, tx, query)
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	kept := names[:0]
	for _, name := range names {
		if !passing(name) {
			kept = append(kept, name)
		}
	}
	return kept, nil
}

var plainName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

// kinds returns the columns of a table, in order, and what they hold: int,
// real, bool, text or blob.
func kinds(ctx context.Context, db *sqldb.DB, tx sqldb.Querier,
	table string,
) (names []string, kind map[string]string, err error) {
	query := `SELECT name, lower(type) FROM pragma_table_info($1) ORDER BY cid`
	if db.Dialect() == sqldb.Postgres {
		query = `SELECT column_name, data_type FROM information_schema.columns
			WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position`
	}
	rows, err := tx.QueryContext(ctx, query, table)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	kind = map[string]string{}
	for rows.Next() {
		var name, declared string
		if err := rows.Scan(&name, &declared); err != nil {
			return nil, nil, err
		}
		switch declared {
		case "integer", "bigint":
			kind[name] = "int"
		case "real", "double precision":
			kind[name] = "real"
		case "boolean":
			kind[name] = "bool"
		case "text":
			kind[name] = "text"
		case "blob", "bytea":
			kind[name] = "blob"
		default:
			return nil, nil, fmt.Errorf("column %s has type %s, which does not travel", name, declared)
		}
		if !plainName.MatchString(name) {
			return nil, nil, fmt.Errorf("column %q has an odd name", name)
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil, nil, fmt.Errorf("table %s is not there", table)
	}
	return names, kind, rows.Err()
}

type exportedBytes struct {
	B string `json:"b"`
}

func exportTable(ctx context.Context, db *sqldb.DB, tx sqldb.Querier, table string,
	emit func(string, []byte) error,
) (err error) {
	if !plainName.MatchString(table) {
		return errors.New("odd name")
	}
	names, _, err := kinds(ctx, db, tx, table)
	if err != nil {
		return err
	}
	rows, err := tx.QueryContext(ctx, `SELECT "`+strings.Join(names, `", "`)+`" FROM `+table)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var piece bytes.Buffer
	out := json.NewEncoder(&piece)
	out.SetEscapeHTML(false)
	values, into := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	if err := out.Encode(names); err != nil {
		return err
	}
	head := piece.Len()
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, v := range values {
			switch v := v.(type) {
			case []byte:
				values[i] = exportedBytes{base64.StdEncoding.EncodeToString(v)}
			case bool: // as SQLite has it
				values[i] = 0
				if v {
					values[i] = 1
				}
			}
		}
		if err := out.Encode(values); err != nil {
			return err
		}
		if piece.Len() > exportChunk {
			if err := emit(table, piece.Bytes()); err != nil {
				return err
			}
			piece.Truncate(head)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return emit(table, piece.Bytes()) // also when the table is empty
}

// Import stores a piece that Export handed out. The tables must be there and
// have the same columns; the rows must not.
func Import(ctx context.Context, db *sqldb.DB, table string, piece []byte) error {
	if !plainName.MatchString(table) || passing(table) {
		return fmt.Errorf("import table %q: not one that travels", table)
	}
	insert, rows, err := unpack(ctx, db, table, piece)
	if err == nil {
		err = db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
			for _, row := range rows {
				if _, err := tx.ExecContext(ctx, insert, row...); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("import table %s: %w", table, err)
	}
	return nil
}

// unpack reads a piece: the statement that stores a row of it, and the rows. It
// is done before the transaction, which must not wait for it.
func unpack(ctx context.Context, db *sqldb.DB, table string,
	piece []byte,
) (insert string, rows [][]any, err error) {
	_, kind, err := kinds(ctx, db, db.Read(), table)
	if err != nil {
		return "", nil, err
	}
	in := json.NewDecoder(bytes.NewReader(piece))
	in.UseNumber()
	var names []string
	if err := in.Decode(&names); err != nil {
		return "", nil, fmt.Errorf("read columns: %w", err)
	}
	if len(names) != len(kind) {
		return "", nil, fmt.Errorf("it had %d columns and has %d here", len(names), len(kind))
	}
	places := make([]string, len(names))
	for i, name := range names {
		if kind[name] == "" {
			return "", nil, fmt.Errorf("there is no column %q here", name)
		}
		places[i] = "$" + strconv.Itoa(i+1)
	}
	for in.More() {
		var row []any
		if err := in.Decode(&row); err != nil {
			return "", nil, fmt.Errorf("read row: %w", err)
		}
		if len(row) != len(names) {
			return "", nil, fmt.Errorf("a row has %d values for %d columns", len(row), len(names))
		}
		for i, name := range names {
			if row[i], err = travel(row[i], kind[name]); err != nil {
				return "", nil, fmt.Errorf("column %s: %w", name, err)
			}
		}
		rows = append(rows, row)
	}
	return `INSERT INTO ` + table + ` ("` + strings.Join(names, `", "`) + `") VALUES (` + strings.Join(places, ", ") + `)`, rows, nil
}

// travel turns a value of an exported row into what a column of the kind takes.
func travel(value any, kind string) (any, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil //nolint:nilnil // NULL
	case bool:
		switch kind {
		case "bool":
			return v, nil
		case "int":
			if v {
				return int64(1), nil
			}
			return int64(0), nil
		}
	case json.Number:
		switch kind {
		case "int":
			return v.Int64()
		case "real":
			return v.Float64()
		case "bool":
			return v.String() != "0", nil
		}
	case string:
		if kind == "text" {
			return v, nil
		}
	case map[string]any:
		if text, ok := v["b"].(string); ok && kind == "blob" {
			return base64.StdEncoding.DecodeString(text)
		}
	}
	return nil, fmt.Errorf("a %T does not fit a column of kind %s", value, kind)
}

// Empty reports whether no table that travels has a row.
func Empty(ctx context.Context, db *sqldb.DB) (bool, error) {
	all, err := list(ctx, db, db.Read())
	if err != nil {
		return false, err
	}
	for _, table := range all {
		var n int
		if err := db.Read().QueryRowContext(ctx, `SELECT COUNT(*) FROM (SELECT 1 FROM `+table+` LIMIT 1) AS one`).Scan(&n); err != nil {
			return false, fmt.Errorf("look into table %s: %w", table, err)
		}
		if n > 0 {
			return false, nil
		}
	}
	return true, nil
}
