package sqldb_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/test/testenv"
)

// follow reads a feed with a cursor, as a reconciling reader does, and fails the
// test when the next number is not one more than the last.
func follow(t *testing.T, db *sqldb.DB, until int64) {
	t.Helper()
	for cursor := int64(0); cursor < until; {
		rows, err := db.Read().QueryContext(t.Context(), `SELECT n FROM demo_things WHERE n > $1 ORDER BY n LIMIT 10`, cursor)
		if err != nil {
			t.Error(err)
			return
		}
		for rows.Next() {
			var n int64
			if err := rows.Scan(&n); err != nil {
				t.Error(err)
			}
			if n != cursor+1 {
				t.Errorf("after number %d came %d: a change was passed over", cursor, n)
			}
			cursor = n
		}
		if err := rows.Err(); err != nil {
			t.Error(err)
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			return
		}
	}
}

// publish stores one change with its number, which is taken in the middle.
func publish(ctx context.Context, db *sqldb.DB, id string) error {
	return db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		if err := insert(id)(ctx, tx); err != nil {
			return err
		}
		n, err := sqldb.NextFeed(ctx, tx, "demo")
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE demo_things SET n = $1 WHERE id = $2`, n, id)
		return err
	})
}

func TestAReaderWithACursorMissesNothing(t *testing.T) {
	t.Parallel()
	const nodes, writers, each = 3, 4, 8
	for name, address := range map[string]func(testing.TB) string{"sqlite": sqldbtest.SQLiteURL, "postgres": testenv.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := address(t)
			fleet := []*sqldb.DB{things(t, func(t *testing.T) *sqldb.DB { return sqldbtest.Open(t, at, sqldb.Options{}) })}
			for len(fleet) < nodes {
				if name == "sqlite" { // one process, one handle
					fleet = append(fleet, fleet[0])
					continue
				}
				fleet = append(fleet, sqldbtest.Open(t, at, sqldb.Options{}))
			}
			var wg sync.WaitGroup
			for i, db := range fleet {
				for w := range writers {
					wg.Go(func() {
						for k := range each {
							if err := publish(t.Context(), db, fmt.Sprintf("%d/%d/%d", i, w, k)); err != nil {
								t.Error(err)
							}
						}
					})
				}
				wg.Go(func() { follow(t, db, nodes*writers*each) })
			}
			wg.Wait()
		})
	}
}

func TestARolledBackNumberIsUsedAgain(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := things(t, open)
		var last int64
		var fail atomic.Bool
		take := func(ctx context.Context, tx sqldb.Querier) (err error) {
			if last, err = sqldb.NextFeedN(ctx, tx, "demo", 3); err == nil && fail.Load() {
				err = context.Canceled
			}
			return err
		}
		mustWrite(t, db, take)
		fail.Store(true)
		if err := db.Write(t.Context(), take); err == nil {
			t.Error("the failing write succeeded")
		}
		fail.Store(false)
		mustWrite(t, db, take)
		if last != 6 {
			t.Errorf("the last number is %d, want 6", last)
		}
	})
}
