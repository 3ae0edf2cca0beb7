package sqldbtest

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// Reads counts the rows that statements read, by the plans that an engine makes for
// them: what they find and what they look at in vain.
//
//	var reads sqldbtest.Reads
//	db := sqldbtest.Open(t, url, sqldb.Options{Seen: reads.Seen})
//	… fill its tables, then reads.Ready(t, db, table)
//	n := reads.Of(t, db, func() { … })
//
// On PostgreSQL the statements are run again and counted, without scans of tables
// where Small says that they are too small for it to mind. SQLite tells only whether
// it searches an index or scans a table: a search counts as one row, and so does a scan
// along an index that ends at a limit; another scan as all.
// The zero value is ready to use.
type Reads struct {
	Small bool

	mu      sync.Mutex
	watches bool
	seen    []statement
}

type statement struct {
	query string
	args  []any
}

// Seen is the hook of sqldb.Options.
func (r *Reads) Seen(query string, args []driver.NamedValue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.watches {
		return
	}
	s := statement{query: query}
	for _, a := range args {
		s.args = append(s.args, a.Value)
	}
	r.seen = append(r.seen, s)
}

// Ready lets the engine learn what a table holds, as it does by itself in time.
func (r *Reads) Ready(t testing.TB, db *sqldb.DB, table string) {
	t.Helper()
	if _, err := db.WriteOne(t.Context(), "ANALYZE "+table); err != nil {
		t.Fatal(err)
	}
}

// Of returns how many rows the statements of a function read.
func (r *Reads) Of(t testing.TB, db *sqldb.DB, do func()) (rows int64) {
	t.Helper()
	r.watch(true)
	do()
	for _, s := range r.watch(false) {
		verb, _, _ := strings.Cut(strings.ToUpper(strings.TrimSpace(s.query)), " ")
		switch strings.TrimSpace(verb) {
		case "SELECT", "DELETE", "UPDATE", "WITH":
		default: // an insert reads nothing that matters, others have no plan
			continue
		}
		n, plan := explainSQLite(t, db, s)
		if db.Dialect() == sqldb.Postgres {
			n, plan = r.explainPostgres(t, db, s)
		}
		t.Logf("%d rows: %s\n%s", n, strings.Join(strings.Fields(s.query), " "), plan)
		rows += n
	}
	return rows
}

func (r *Reads) watch(on bool) []statement {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.seen
	r.watches, r.seen = on, nil
	return seen
}

// errUndo rolls back what a statement changed when it was run for its plan.
var errUndo = errors.New("only its plan was wanted")

func (r *Reads) explainPostgres(t testing.TB, db *sqldb.DB, s statement) (rows int64, plan string) {
	t.Helper()
	err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
		if r.Small {
			for _, way := range []string{"seqscan", "hashjoin", "mergejoin"} {
				if _, err := tx.ExecContext(ctx, "SET LOCAL enable_"+way+" = off"); err != nil {
					return err
				}
			}
		}
		if err := tx.QueryRowContext(ctx, "EXPLAIN (ANALYZE, FORMAT JSON) "+s.query, s.args...).Scan(&plan); err != nil {
			return err
		}
		return errUndo
	})
	if !errors.Is(err, errUndo) {
		t.Fatalf("explain %s: %v", s.query, err)
	}
	var top []struct{ Plan planNode }
	if err := json.Unmarshal([]byte(plan), &top); err != nil || len(top) != 1 {
		t.Fatalf("%v: %s", err, plan)
	}
	var text strings.Builder
	return top[0].Plan.read(&text, ""), text.String()
}

// planNode is a step of PostgreSQL's plan.
type planNode struct {
	Kind    string  `json:"Node Type"`
	Table   string  `json:"Relation Name"`
	Index   string  `json:"Index Name"`
	Rows    float64 `json:"Actual Rows"`
	Vain    float64 `json:"Rows Removed by Filter"`
	Recheck float64 `json:"Rows Removed by Index Recheck"`
	Loops   float64 `json:"Actual Loops"`
	Plans   []planNode
}

func (n planNode) read(text *strings.Builder, indent string) (rows int64) {
	if strings.HasSuffix(n.Kind, "Scan") && (n.Table != "" || n.Index != "") {
		rows = int64((n.Rows + n.Vain + n.Recheck) * n.Loops)
	}
	_, _ = fmt.Fprintf(text, "%s%s %s %s: %d\n", indent, n.Kind, n.Table, n.Index, rows)
	for _, below := range n.Plans {
		rows += below.read(text, indent+"  ")
	}
	return rows
}

// scanLine is a step of SQLite's plan that looks at all of something.
var scanLine = regexp.MustCompile(`^SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?`)

func explainSQLite(t testing.TB, db *sqldb.DB, s statement) (rows int64, plan string) {
	t.Helper()
	if db.Dialect() != sqldb.SQLite {
		return 0, ""
	}
	lines, err := planLines(t.Context(), db, s)
	if err != nil {
		t.Fatalf("explain %s: %v", s.query, err)
	}
	for _, line := range lines {
		scan := scanLine.FindStringSubmatch(line)
		if scan == nil || scan[2] != "" && strings.Contains(s.query, "LIMIT") && !strings.Contains(strings.Join(lines, " "), "TEMP B-TREE FOR ORDER BY") {
			rows++
			continue
		}
		rows += scanned(t, db, s.query, scan[1], scan[2])
	}
	return rows, strings.Join(lines, "\n")
}

func planLines(ctx context.Context, db *sqldb.DB, s statement) (lines []string, err error) {
	rows, err := db.Read().QueryContext(ctx, "EXPLAIN QUERY PLAN "+s.query, s.args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id, parent, unused int64
		var line string
		if err := rows.Scan(&id, &parent, &unused, &line); err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, rows.Err()
}

// scanned counts what a scan of SQLite reads: of a partial index its entries alone.
func scanned(t testing.TB, db *sqldb.DB, query, table, index string) (rows int64) {
	t.Helper()
	if alias := regexp.MustCompile(`(?i)(?:FROM|JOIN)\s+(\w+)\s+(?:AS\s+)?` + table + `\b`).FindStringSubmatch(query); alias != nil {
		table = alias[1]
	}
	where := ""
	if index != "" {
		var text string
		err := db.Read().QueryRowContext(t.Context(), `SELECT COALESCE(MAX(sql), '') FROM sqlite_schema WHERE type = 'index' AND name = $1`, index).Scan(&text)
		if err != nil {
			t.Fatal(err)
		}
		if _, partial, ok := strings.Cut(text, " WHERE "); ok {
			where = " WHERE " + partial
		}
	}
	if err := db.Read().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM `+table+where).Scan(&rows); err != nil {
		return 0 // a part of the query itself, which the other lines are about
	}
	return rows
}
