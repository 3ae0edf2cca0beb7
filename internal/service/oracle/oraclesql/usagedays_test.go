package oraclesql_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/usage"
	"github.com/castalia-org/castalia/plugin"
)

// An upgrade adds up by day and by month what was counted before.
func TestAnUpgradeAddsUsageUp(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		all := oraclesql.Migrations()
		before, isAfter := fstest.MapFS{}, false
		err := fs.WalkDir(all.FS, ".", func(path string, d fs.DirEntry, err error) error {
			isAfter = isAfter || strings.HasSuffix(path, "_usage_by_day.sql")
			if err != nil || d.IsDir() || isAfter {
				return err
			}
			text, err := fs.ReadFile(all.FS, path)
			before[path] = &fstest.MapFile{Data: text}
			return err
		})
		if err != nil || !isAfter {
			t.Fatalf("the migration is not found: %v", err)
		}
		db := sqldbtest.Migrate(t, open(t), sqldb.Migrations{Service: all.Service, FS: before})
		// Two years with a leap day in between.
		first, days := oracle.DayOf(time.Date(2027, 6, 15, 0, 0, 0, 0, time.UTC)), int64(730)
		for i := range days {
			text := fmt.Sprintf(`INSERT INTO oracle_model_usage (day, owner, model, source, calls, failed, input, cached, output, reasoning, cost_micros, first_ms, firsts)
				VALUES (%[1]d, 'a', 'm', 'oracle', 2, 1, 5, 0, 5, 0, 7, 100, 1), (%[1]d, 'b', 'm', 'oracle', 1, 0, 1, 0, 1, 0, 0, 50, 1)`, first+i)
			if _, err := db.WriteOne(t.Context(), text); err != nil {
				t.Fatal(err)
			}
		}
		sqldbtest.Migrate(t, db, all)
		store := oraclesql.New(db)
		got, err := store.Usage(t.Context(), usage.Query{
			From: first + 3, To: first + 3, By: []usage.Dimension{usage.ByDay, usage.ByModel},
		})
		want := []usage.Row{{
			Day: first + 3, Model: "m", Calls: 3, Failed: 1, FirstMS: 150, Firsts: 2,
			Usage: plugin.Usage{InputTokens: 6, OutputTokens: 6, CostMicros: 7},
		}}
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%v (-want +got):\n%s", err, d)
		}
		in := map[int64]int64{}
		for i := range days {
			in[oracle.MonthOf(first+i)]++
		}
		for month, n := range in {
			list, err := store.Spenders(t.Context(), month, 10)
			want := []usage.Spender{
				{Owner: "a", Calls: 2 * n, Tokens: 10 * n, CostMicros: 7 * n}, {Owner: "b", Calls: n, Tokens: 2 * n},
			}
			if d := cmp.Diff(want, list); err != nil || d != "" {
				t.Errorf("month %d: %v (-want +got):\n%s", month, err, d)
			}
		}
	})
}
