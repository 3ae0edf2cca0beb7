package feedsql_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/feed"
	"github.com/castalia-org/castalia/internal/platform/feed/feedsql"
	"github.com/castalia-org/castalia/internal/platform/queue"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

// TestWhatIsVisible has each look tell the heads of feeds, and no two looks between which
// something was committed the same name: neither what was begun after the first, nor what
// was under way then.
func TestWhatIsVisible(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), queue.Migrations())
		read := feedsql.In(db)
		look := func() feed.Seen {
			t.Helper()
			seen, err := read(t.Context(), []string{"one", "two"})
			if err != nil {
				t.Fatal(err)
			}
			if named := seen.Visible != ""; named != (db.Dialect() == sqldb.Postgres) {
				t.Errorf("what is visible is called %q", seen.Visible)
			}
			return seen
		}
		before := look()
		if len(before.Last) != 0 {
			t.Errorf("feeds without a number: %v", before.Last)
		}
		differs := func(when string, a, b feed.Seen) {
			t.Helper()
			if a.Visible == b.Visible && a.Visible != "" {
				t.Errorf("%s: %q is visible before and after", when, a.Visible)
			}
		}
		var during feed.Seen
		err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
			if _, err := sqldb.NextFeed(ctx, tx, "two"); err != nil {
				return err
			}
			during = look()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		after := look()
		if d := cmp.Diff(map[string]int64{"two": 1}, after.Last); d != "" || len(during.Last) != 0 {
			t.Errorf("heads during the transaction: %v; after it: %s", during.Last, d)
		}
		differs("from before a transaction to after it", before, after)
		differs("from the middle of a transaction to after it", during, after)
		if _, err := db.WriteOne(t.Context(), `UPDATE platform_feeds SET last = 7 WHERE name = 'two'`); err != nil {
			t.Fatal(err)
		}
		differs("from before a statement to after it", after, look())
	})
}
