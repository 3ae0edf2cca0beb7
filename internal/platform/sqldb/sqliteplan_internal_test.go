package sqldb

import (
	"strings"
	"testing"
)

// A statement with a page's length as its argument keeps its plan (BenchmarkPage), and
// reads as many rows as it says.
func TestAPageKeepsItsPlan(t *testing.T) {
	t.Parallel()
	const page = `SELECT column1 FROM (VALUES ('a'), ('b'), ('c')) ORDER BY 1 LIMIT $1 OFFSET $2`
	if text := keptPlan(page); strings.Contains(text, "LIMIT $") {
		t.Errorf("SQLite plans anew for each argument: %s", text)
	}
	db, err := Open(t.Context(), "sqlite:"+t.TempDir()+"/x.db", Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for _, c := range []struct {
		limit, offset int
		want          string
	}{{2, 0, "a b"}, {2, 1, "b c"}, {0, 0, ""}, {9, 2, "c"}, {1, 0, "a"}} {
		got, err := Strings(t.Context(), db.Read(), page, c.limit, c.offset)
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("limit %d offset %d: %q, %v", c.limit, c.offset, got, err)
		}
	}
}
