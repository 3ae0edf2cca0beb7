package sqldb_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/platform/sqldb/tablecopy"
	"github.com/castalia-org/castalia/test/testenv"
)

type piece struct{ table, text string }

func export(t *testing.T, db *sqldb.DB) []piece {
	t.Helper()
	var all []piece
	err := tablecopy.Export(t.Context(), db, func(table string, text []byte) error {
		all = append(all, piece{table, string(text)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func sum(t *testing.T, db *sqldb.DB) tablecopy.Sum {
	t.Helper()
	s, err := tablecopy.SumOf(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTheSumSeesEveryChange: the same rows have the same sum, whatever way they
// came, and any other rows have another.
func TestTheSumSeesEveryChange(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := things(t, open)
		change := func(query string, args ...any) tablecopy.Sum {
			t.Helper()
			if _, err := db.WriteOne(t.Context(), query, args...); err != nil {
				t.Fatal(err)
			}
			return sum(t, db)
		}
		const insert = `INSERT INTO demo_things (id, n) VALUES ($1, $2)`
		one := change(insert, "a", 1)
		two := change(insert, "b", 2)
		if two.Rows != one.Rows+1 || two.Hash == one.Hash {
			t.Errorf("a row more: %+v, then %+v", one, two)
		}
		if s := change(`UPDATE demo_things SET n = 3 WHERE id = 'b'`); s.Hash == two.Hash || s.Rows != two.Rows {
			t.Errorf("another value: %+v, then %+v", two, s)
		}
		if s := change(`DELETE FROM demo_things WHERE id = 'b'`); s != one {
			t.Errorf("back again: %+v, then %+v", one, s)
		}
		change(`DELETE FROM demo_things WHERE id = 'a'`)
		change(insert, "b", 2)
		if s := change(insert, "a", 1); s != two {
			t.Errorf("in another order: %+v, then %+v", two, s)
		}
	})
}

var travelling = set("0001_first.sql", `CREATE TABLE demo_things (
  id {{text}} NOT NULL PRIMARY KEY, n {{int}}, x {{real}}, body {{blob}}, note {{text}}, flag {{bool}}) {{table}};
CREATE TABLE demo_empty (id {{int}} NOT NULL PRIMARY KEY) {{clustered}};`)

// TestDataTravelsBetweenEngines exports on each engine and imports on each.
func TestDataTravelsBetweenEngines(t *testing.T) {
	t.Parallel()
	for _, from := range []string{"sqlite", "postgres"} {
		for _, to := range []string{"sqlite", "postgres"} {
			t.Run(from+" to "+to, func(t *testing.T) {
				t.Parallel()
				open := func(engine string) *sqldb.DB {
					url := sqldbtest.SQLiteURL(t)
					if engine == "postgres" {
						url = testenv.Postgres(t)
					}
					return sqldbtest.Migrate(t, sqldbtest.Open(t, url, sqldb.Options{}), travelling)
				}
				source, target := open(from), open(to)
				for _, row := range [][]any{
					{"null", nil, nil, nil, nil, nil},
					{"empty", 0, 0.0, []byte{}, "", false},
					{"extreme", int64(math.MaxInt64), -1e300, []byte("\x00\xff"), "<é\"\n\u2028>", true},
					{"large", int64(math.MinInt64), 0.1, []byte(strings.Repeat("x", 1<<20)), "y", true},
					{"after", 1, 2.0, []byte("z"), "z", false},
				} {
					mustWrite(t, source, func(ctx context.Context, tx sqldb.Querier) error {
						if _, err := sqldb.NextFeed(ctx, tx, "demo"); err != nil {
							return err
						}
						_, err := tx.ExecContext(ctx, `INSERT INTO demo_things (id, n, x, body, note, flag) VALUES ($1, $2, $3, $4, $5, $6)`, row...)
						return err
					})
				}
				if empty, err := tablecopy.Empty(t.Context(), target); !empty || err != nil {
					t.Fatalf("a new database: empty %v, %v", empty, err)
				}
				pieces := export(t, source)
				for _, p := range pieces {
					if err := tablecopy.Import(t.Context(), target, p.table, []byte(p.text)); err != nil {
						t.Fatal(err)
					}
				}
				if empty, err := tablecopy.Empty(t.Context(), target); empty || err != nil {
					t.Errorf("after the import: empty %v, %v", empty, err)
				}
				was, is := sum(t, source), sum(t, target)
				if was != is || was.Rows < 5 || was.Tables < 2 {
					t.Errorf("the sum was %+v and is %+v", was, is)
				}
				// What comes out again on the same engine is what went in.
				if from == to {
					if diff := cmp.Diff(pieces, export(t, target), cmp.AllowUnexported(piece{})); diff != "" {
						t.Errorf("second export differs:\n%.2000s", diff)
					}
				}
				var n int64
				var x float64
				var note string
				var flag bool
				var body []byte
				err := target.Read().QueryRowContext(t.Context(), `SELECT n, x, body, note, flag FROM demo_things WHERE id = 'extreme'`).
					Scan(&n, &x, &body, &note, &flag)
				if err != nil || n != math.MaxInt64 || x != -1e300 || string(body) != "\x00\xff" || note != "<é\"\n\u2028>" || !flag {
					t.Errorf("came over as %d %g %q %q %v (%v)", n, x, body, note, flag, err)
				}
				mustWrite(t, target, func(ctx context.Context, tx sqldb.Querier) error {
					next, err := sqldb.NextFeed(ctx, tx, "demo")
					if err == nil && next != 6 {
						t.Errorf("the feed goes on with %d, want 6", next)
					}
					return err
				})
				for _, p := range pieces {
					if err := tablecopy.Import(t.Context(), target, p.table, []byte(p.text)); err == nil && p.table == "demo_things" {
						t.Error("the same rows were taken twice")
					}
				}
			})
		}
	}
}

func TestImportRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	db := sqldbtest.Migrate(t, sqldbtest.SQLite(t), travelling)
	for name, p := range map[string]piece{
		"no such table":     {"demo_others", `["id"]` + "\n" + `["x"]`},
		"table of versions": {"demo_migrations", `["version"]`},
		"lease":             {"platform_leases", `["name"]`},
		"odd table":         {`demo_things; DROP TABLE demo_things`, `["id"]`},
		"missing column":    {"demo_empty", `["id","more"]`},
		"other column":      {"demo_empty", `["it"]` + "\n[1]"},
		"short row":         {"demo_empty", `["id"]` + "\n[]"},
		"wrong kind":        {"demo_empty", `["id"]` + "\n" + `["one"]`},
		"fraction":          {"demo_empty", `["id"]` + "\n" + `[1.5]`},
		"cut off":           {"demo_empty", `["id"]` + "\n" + `[1`},
		"nothing":           {"demo_empty", ``},
	} {
		if err := tablecopy.Import(t.Context(), db, p.table, []byte(p.text)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if empty, err := tablecopy.Empty(t.Context(), db); !empty || err != nil {
		t.Errorf("refused pieces left something: %v", err)
	}
}
