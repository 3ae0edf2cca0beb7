package sqldbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// edges is the schema that Contract works on.
var edges = sqldb.Migrations{Service: "edge", FS: fstest.MapFS{"0001_edges.sql": {Data: []byte(`
CREATE TABLE edge_values (
  id {{text}} NOT NULL PRIMARY KEY,
  n {{int}}, x {{real}}, note {{text}}, body {{blob}}, flag {{bool}}
) {{table}};
CREATE TABLE edge_serials (id {{identity}}, name {{text}} NOT NULL UNIQUE) {{table}};
CREATE TABLE edge_children (
  id {{text}} NOT NULL PRIMARY KEY,
  parent {{text}} NOT NULL REFERENCES edge_values (id)
) {{clustered}};
`)}}}

// Contract is what every engine keeps. Stores rely on it and need not test it.
func Contract(t *testing.T, open func(t *testing.T) *sqldb.DB) {
	t.Helper()
	db := Migrate(t, open(t), edges)
	for name, test := range map[string]func(*testing.T, *sqldb.DB){
		"text is ordered by its bytes":                     byteOrder,
		"case matters":                                     caseMatters,
		"text without meaning is refused":                  badText,
		"text comes back as it was":                        goodText,
		"times keep milliseconds":                          times,
		"empty is not NULL":                                emptyIsNotNull,
		"numbers keep their extremes":                      numbers,
		"a large blob comes back":                          largeBlob,
		"conflicts are told apart":                         conflicts,
		"rows affected are counted":                        affected,
		"functions run as if one by one":                   oneByOne,
		"a rule over two rows holds":                       twoRows,
		"a cancelled function leaves nothing":              cancelled,
		"a long read ends with its context":                longRead,
		"a failed statement ends the transaction":          failedStatement,
		"a transaction has one line to the database":       oneLine,
		"a transaction is over when its function returned": over,
		"a write inside a write is refused":                nested,
		"readers cannot write":                             readOnly,
		"a snapshot does not move":                         snapshot,
		"the clock is the database's":                      clock,
	} {
		t.Run(name, func(t *testing.T) {
			empty(t, db)
			test(t, db)
		})
	}
}

// empty clears the tables between two parts of the contract.
func empty(t *testing.T, db *sqldb.DB) {
	t.Helper()
	for _, table := range []string{"edge_children", "edge_serials", "edge_values"} {
		err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
			_, err := tx.ExecContext(ctx, `DELETE FROM `+table)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// put stores a row of edge_values; columns that are nil stay NULL.
func put(t *testing.T, db *sqldb.DB, id string, n, x, note, body, flag any) {
	t.Helper()
	if err := tryPut(t.Context(), db, id, n, x, note, body, flag); err != nil {
		t.Fatalf("put %q: %v", id, err)
	}
}

func tryPut(ctx context.Context, db *sqldb.DB, id string, n, x, note, body, flag any) error {
	return db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO edge_values (id, n, x, note, body, flag) VALUES ($1, $2, $3, $4, $5, $6)`,
			id, n, x, note, body, flag)
		return err
	})
}

// texts returns the first column of a query.
func texts(t *testing.T, db *sqldb.DB, query string, args ...any) []string {
	t.Helper()
	rows, err := db.Read().QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var all []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func byteOrder(t *testing.T, db *sqldb.DB) {
	want := []string{
		"", " ", "-", "10", "9", "A", "B", "Z", "_", "a", "a b", "a-b", "aB", "ab", "b", "ä", "é", "ﬀ", "\U0001F600",
	}
	for i := range want {
		put(t, db, want[(i*7)%len(want)], nil, nil, nil, nil, nil)
	}
	if diff := cmp.Diff(want, texts(t, db, `SELECT id FROM edge_values ORDER BY id`)); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "a b", "a-b", "aB", "ab"},
		texts(t, db, `SELECT id FROM edge_values WHERE id >= $1 AND id < $2 ORDER BY id`, "a", "b")); diff != "" {
		t.Errorf("range (-want +got):\n%s", diff)
	}
}

func caseMatters(t *testing.T, db *sqldb.DB) {
	for _, id := range []string{"alice", "Alice", "É", "é", "alice "} {
		put(t, db, id, nil, nil, nil, nil, nil)
	}
	for query, want := range map[string][]string{
		`SELECT id FROM edge_values WHERE id = $1`:                             {"Alice"},
		`SELECT id FROM edge_values WHERE id LIKE $1`:                          {"Alice"},
		`SELECT id FROM edge_values WHERE id IN ($1)`:                          {"Alice"},
		`SELECT MIN(id) FROM edge_values WHERE id >= $1`:                       {"Alice"},
		`SELECT DISTINCT id FROM edge_values WHERE id = $1 GROUP BY id`:        {"Alice"},
		`SELECT id FROM edge_values WHERE SUBSTR(id, 1, 1) = SUBSTR($1, 1, 1)`: {"Alice"},
	} {
		if diff := cmp.Diff(want, texts(t, db, query, "Alice")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
}

func badText(t *testing.T, db *sqldb.DB) {
	for _, bad := range []string{"a\x00b", "\x00", "\xff", "\xc3\x28", "\xed\xa0\x80", "cut \xf0\x9f\x98"} {
		if err := tryPut(t.Context(), db, bad, nil, nil, nil, nil, nil); !fault.Is(err, fault.Invalid) {
			t.Errorf("put %q: %v, want it refused as invalid", bad, err)
		}
		var n int
		err := db.Read().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM edge_values WHERE id = $1`, bad).Scan(&n)
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("look for %q: %v, want it refused as invalid", bad, err)
		}
	}
	put(t, db, "bytes may hold anything", nil, nil, nil, []byte("a\x00\xff"), nil)
}

func goodText(t *testing.T, db *sqldb.DB) {
	for i, text := range []string{
		"", " ", "'; DROP TABLE edge_values; --", "{{text}}", "$1", "\\x00", "\u0001\u001f\u007f", "\u00a0\u2028\ufeff",
		"e\u0301 is not é", "\U0010FFFF", strings.Repeat("long ", 50_000),
	} {
		id := fmt.Sprint(i)
		put(t, db, id, nil, nil, text, nil, nil)
		if got := texts(t, db, `SELECT note FROM edge_values WHERE id = $1`, id); len(got) != 1 || got[0] != text {
			t.Errorf("%.40q came back as %.40q", text, got)
		}
	}
}

func times(t *testing.T, db *sqldb.DB) {
	for i, at := range []time.Time{
		time.UnixMilli(0), time.UnixMilli(-1), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 999_000_000, time.UTC),
		time.Date(2026, 11, 15, 1, 2, 3, 4_999_999, time.FixedZone("x", 3600)),
	} {
		id := fmt.Sprint(i)
		put(t, db, id, sqldb.MS(at), nil, nil, nil, nil)
		var ms int64
		if err := db.Read().QueryRowContext(t.Context(), `SELECT n FROM edge_values WHERE id = $1`, id).Scan(&ms); err != nil {
			t.Fatal(err)
		}
		if got, want := sqldb.Time(ms), at.UTC().Truncate(time.Millisecond); !got.Equal(want) {
			t.Errorf("%s came back as %s", want, got)
		}
	}
}

func emptyIsNotNull(t *testing.T, db *sqldb.DB) {
	put(t, db, "null", nil, nil, nil, nil, nil)
	put(t, db, "nil slice", 0, 0.0, "", []byte(nil), false)
	put(t, db, "empty", 0, 0.0, "", []byte{}, false)
	if diff := cmp.Diff([]string{"empty"}, texts(t, db, `SELECT id FROM edge_values WHERE body IS NOT NULL ORDER BY id`)); diff != "" {
		t.Errorf("empty bodies (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"null"}, texts(t, db, `SELECT id FROM edge_values WHERE note IS NULL ORDER BY id`)); diff != "" {
		t.Errorf("NULL notes (-want +got):\n%s", diff)
	}
	var note sql.NullString
	var body []byte
	var flag sql.NullBool
	row := db.Read().QueryRowContext(t.Context(), `SELECT note, body, flag FROM edge_values WHERE id = $1`, "empty")
	if err := row.Scan(&note, &body, &flag); err != nil {
		t.Fatal(err)
	}
	if !note.Valid || body == nil || len(body) != 0 || !flag.Valid || flag.Bool {
		t.Errorf("empty values came back as %+v %#v %+v", note, body, flag)
	}
}

func numbers(t *testing.T, db *sqldb.DB) {
	for i, c := range []struct {
		n    int64
		x    float64
		flag bool
	}{
		{math.MaxInt64, math.MaxFloat64, true},
		{math.MinInt64, -math.SmallestNonzeroFloat64, false},
		{1 << 53, 0.1, true},
		{1<<53 + 1, -0.5, false},
	} {
		id := fmt.Sprint(i)
		put(t, db, id, c.n, c.x, nil, nil, c.flag)
		var n int64
		var x float64
		var flag bool
		row := db.Read().QueryRowContext(t.Context(), `SELECT n, x, flag FROM edge_values WHERE id = $1 AND flag = $2`, id, c.flag)
		if err := row.Scan(&n, &x, &flag); err != nil {
			t.Fatal(err)
		}
		if n != c.n || x != c.x || flag != c.flag {
			t.Errorf("%+v came back as %d %g %v", c, n, x, flag)
		}
	}
}

func largeBlob(t *testing.T, db *sqldb.DB) {
	body := make([]byte, 4<<20)
	for i := range body {
		body[i] = byte(i * i >> 3)
	}
	put(t, db, "large", nil, nil, nil, body, nil)
	var got []byte
	if err := db.Read().QueryRowContext(t.Context(), `SELECT body FROM edge_values WHERE id = $1`, "large").Scan(&got); err != nil {
		t.Fatal(err)
	}
	if string(got) != string(body) {
		t.Error("a blob of 4 MiB came back changed")
	}
}

func conflicts(t *testing.T, db *sqldb.DB) {
	exec := func(query string, args ...any) error {
		return db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
			_, err := tx.ExecContext(ctx, query, args...)
			return err
		})
	}
	put(t, db, "one", nil, nil, nil, nil, nil)
	if err := exec(`INSERT INTO edge_serials (name) VALUES ($1)`, "one"); err != nil {
		t.Fatal(err)
	}
	for query, is := range map[string]func(error) bool{
		`INSERT INTO edge_values (id) VALUES ($1)`:                        sqldb.IsUnique,
		`INSERT INTO edge_serials (name) VALUES ($1)`:                     sqldb.IsUnique,
		`INSERT INTO edge_children (id, parent) VALUES ($1, 'nobody')`:    neither,
		`INSERT INTO edge_values (id, note) VALUES (NULL, $1)`:            neither,
		`INSERT INTO edge_values (id, no_such_column) VALUES ('two', $1)`: neither,
	} {
		if err := exec(query, "one"); err == nil || !is(err) {
			t.Errorf("%s: %v", query, err)
		}
	}
	err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
		var id string
		return tx.QueryRowContext(ctx, `INSERT INTO edge_values (id) VALUES ($1) RETURNING id`, "one").Scan(&id)
	})
	if !sqldb.IsUnique(err) {
		t.Errorf("INSERT … RETURNING: %v", err)
	}
}

func neither(err error) bool {
	return !sqldb.IsUnique(err) && !sqldb.IsSerialization(err) && !sqldb.IsUnavailable(err)
}

func affected(t *testing.T, db *sqldb.DB) {
	put(t, db, "one", 1, nil, nil, nil, nil)
	for _, c := range []struct {
		query string
		want  int64
	}{
		{`INSERT INTO edge_values (id) VALUES ('one') ON CONFLICT (id) DO NOTHING`, 0},
		{`INSERT INTO edge_values (id) VALUES ('one') ON CONFLICT (id) DO UPDATE SET n = 1`, 1},
		{`UPDATE edge_values SET n = 1 WHERE id = 'one'`, 1}, // unchanged rows count
		{`UPDATE edge_values SET n = 2 WHERE id = 'one' AND n = 7`, 0},
		{`DELETE FROM edge_values WHERE id = 'two'`, 0},
	} {
		var n int64
		err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
			res, err := tx.ExecContext(ctx, c.query)
			if err != nil {
				return err
			}
			n, err = res.RowsAffected()
			return err
		})
		if err != nil || n != c.want {
			t.Errorf("%s: %d rows (%v), want %d", c.query, n, err, c.want)
		}
	}
}

// oneByOne adds in Go what it read in SQL: updates would get lost if functions
// could interleave.
func oneByOne(t *testing.T, db *sqldb.DB) {
	put(t, db, "sum", 0, nil, nil, nil, nil)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
					var n int64
					if err := tx.QueryRowContext(ctx, `SELECT n FROM edge_values WHERE id = 'sum'`).Scan(&n); err != nil {
						return err
					}
					_, err := tx.ExecContext(ctx, `UPDATE edge_values SET n = $1 WHERE id = 'sum'`, n+1)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := texts(t, db, `SELECT n FROM edge_values WHERE id = 'sum'`); got[0] != "40" {
		t.Errorf("40 additions of one made %s", got[0])
	}
}

// twoRows lets each function take one of two away if both are there: weaker
// isolation would let both go.
func twoRows(t *testing.T, db *sqldb.DB) {
	for round := range 10 {
		a, b := fmt.Sprintf("%d a", round), fmt.Sprintf("%d b", round)
		put(t, db, a, nil, nil, nil, nil, nil)
		put(t, db, b, nil, nil, nil, nil, nil)
		var wg sync.WaitGroup
		for _, id := range []string{a, b} {
			wg.Go(func() {
				err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
					var n int
					if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM edge_values WHERE id IN ($1, $2)`, a, b).Scan(&n); err != nil || n < 2 {
						return err
					}
					_, err := tx.ExecContext(ctx, `DELETE FROM edge_values WHERE id = $1`, id)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if left := texts(t, db, `SELECT id FROM edge_values WHERE id IN ($1, $2)`, a, b); len(left) != 1 {
			t.Fatalf("round %d left %q, want one", round, left)
		}
	}
}

var errStop = errors.New("stop")
