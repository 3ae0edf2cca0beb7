package coldstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// table is the rows of a table that belong to a conversation. Values are texts and
// whole numbers.
type table struct {
	Name    string   `json:"table"`
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
}

// source is which rows of a table move, for a session $1.
type source struct{ table, where string }

// sources lists what moves, in the order in which rows can be deleted. Frames do not: a
// conversation stays until those of its runs are gone.
func sources() []source {
	return []source{
		{"oracle_approvals", `run_id IN (SELECT id FROM oracle_runs WHERE session_id = $1)`},
		{"oracle_runs", `session_id = $1`},
		{"oracle_messages", `session_id = $1`},
	}
}

var (
	errTooLarge = errors.New("the conversation is too large to be archived")
	errInexact  = errors.New("the conversation cannot be written down exactly")
)

// readRows reads what moves of a session.
func readRows(ctx context.Context, tx sqldb.Querier, session string) ([]table, error) {
	var all []table
	left := MaxBytes
	for _, s := range sources() {
		t, err := s.read(ctx, tx, session, &left)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", s.table, err)
		}
		all = append(all, t)
	}
	return all, nil
}

func (s source) read(ctx context.Context, tx sqldb.Querier, session string, left *int) (t table, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT * FROM `+s.table+` WHERE `+s.where, session)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	t = table{Name: s.table, Rows: [][]any{}}
	if t.Columns, err = rows.Columns(); err != nil {
		return t, err
	}
	for rows.Next() {
		values, into := make([]any, len(t.Columns)), make([]any, len(t.Columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return t, err
		}
		for i, v := range values {
			if raw, ok := v.([]byte); ok {
				v = string(raw)
				values[i] = v
			}
			if text, ok := v.(string); ok {
				*left -= len(text)
			}
		}
		if *left -= len(values) * 8; *left < 0 {
			return t, errTooLarge
		}
		t.Rows = append(t.Rows, values)
	}
	return t, rows.Err()
}

// contents is what an object holds, compressed.
type contents struct {
	Version int     `json:"version"`
	Tables  []table `json:"tables"`
}

const version = 1

// encode writes rows, and makes sure that they can be read again as they are: what is
// deleted next is nowhere else.
func encode(tables []table) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(contents{Version: version, Tables: tables}); err != nil {
		return nil, fmt.Errorf("write rows: %w", err)
	}
	again, err := decode(out.Bytes())
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(tables, again) {
		return nil, errInexact
	}
	return out.Bytes(), nil
}

func decode(plain []byte) ([]table, error) {
	d := json.NewDecoder(bytes.NewReader(plain))
	d.UseNumber()
	var c contents
	if err := d.Decode(&c); err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	if c.Version != version {
		return nil, fmt.Errorf("an archived conversation is of version %d, which this program does not know: update it", c.Version)
	}
	for _, t := range c.Tables {
		known := slices.ContainsFunc(sources(), func(s source) bool { return s.table == t.Name })
		if !known || slices.ContainsFunc(t.Columns, isOdd) {
			return nil, errors.New("an archived conversation has rows of an unknown table")
		}
		for _, row := range t.Rows {
			if len(row) != len(t.Columns) {
				return nil, errors.New("an archived conversation has a row of another length")
			}
			for i, v := range row {
				if n, ok := v.(json.Number); ok {
					whole, err := n.Int64()
					if err != nil {
						return nil, fmt.Errorf("read a number: %w", err)
					}
					row[i] = whole
				}
			}
		}
	}
	return c.Tables, nil
}

// isOdd reports whether something is no name of a column.
func isOdd(column string) bool {
	return column == "" || strings.Trim(column, "abcdefghijklmnopqrstuvwxyz_") != ""
}

// insertAtOnce is how many rows go into one statement.
const insertAtOnce = 50

// insert stores rows again. Whose they are is what the session says now.
func (t table) insert(ctx context.Context, tx sqldb.Querier, owner string) error {
	whose := slices.Index(t.Columns, "owner")
	for some := range slices.Chunk(t.Rows, insertAtOnce) {
		var args []any
		places := make([]string, len(some))
		for i, row := range some {
			marks := make([]string, len(row))
			for j, v := range row {
				if j == whose {
					v = owner
				}
				args = append(args, v)
				marks[j] = fmt.Sprintf("$%d", len(args))
			}
			places[i] = "(" + strings.Join(marks, ", ") + ")"
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO `+t.Name+` (`+strings.Join(t.Columns, ", ")+`) VALUES `+strings.Join(places, ", "), args...)
		if err != nil {
			return fmt.Errorf("bring back rows of %s: %w", t.Name, err)
		}
	}
	return nil
}
