package sqldb_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

func tableSet(name, columns string) sqldb.Migrations {
	return sqldb.Migrations{Service: name, FS: fstest.MapFS{
		"0001_first.sql": {Data: []byte("CREATE TABLE " + name + "_things (" + columns + ") {{table}};")},
	}}
}

func things(t *testing.T, open func(*testing.T) *sqldb.DB) *sqldb.DB {
	t.Helper()
	return sqldbtest.Migrate(t, open(t), tableSet("demo",
		`id {{text}} NOT NULL PRIMARY KEY, n {{int}} NOT NULL DEFAULT 0, body {{blob}}, note {{text}}, flag {{bool}}`))
}

func insert(id string) func(context.Context, sqldb.Querier) error {
	return func(ctx context.Context, tx sqldb.Querier) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO demo_things (id) VALUES ($1)`, id)
		return err
	}
}

func count(t *testing.T, db *sqldb.DB) int {
	t.Helper()
	var n int
	if err := db.Read().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM demo_things`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAWriteIsSeenByTheNextRead(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := things(t, open)
		for i := range 50 {
			if err := db.Write(t.Context(), insert(string(rune('A'+i)))); err != nil {
				t.Fatal(err)
			}
			if n := count(t, db); n != i+1 {
				t.Fatalf("after %d writes a read sees %d rows", i+1, n)
			}
		}
	})
}

func TestAFailingFunctionRollsBackAlone(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := things(t, open)
		boom := errors.New("boom")
		var wg sync.WaitGroup
		errs := make([]error, 40)
		for i := range errs {
			wg.Go(func() {
				errs[i] = db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
					if err := insert(string(rune('A'+i)))(ctx, tx); err != nil {
						return err
					}
					switch i % 4 {
					case 1:
						return boom
					case 2:
						panic("oops")
					}
					return nil
				})
			})
		}
		wg.Wait()
		for i, err := range errs {
			if failed := i%4 == 1 || i%4 == 2; failed != (err != nil) {
				t.Errorf("write %d: %v", i, err)
			}
		}
		if n := count(t, db); n != 20 {
			t.Errorf("%d rows, want 20", n)
		}
	})
}

func TestUniqueViolationIsKnown(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := things(t, open)
		if err := db.Write(t.Context(), insert("a")); err != nil {
			t.Fatal(err)
		}
		if err := db.Write(t.Context(), insert("a")); !sqldb.IsUnique(err) {
			t.Errorf("second insert: %v", err)
		}
		if err := db.Write(t.Context(), insert("b")); err != nil {
			t.Error(err)
		}
	})
}

func TestNumbersOfAFeedHaveNoGapsAndNoDoubles(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := things(t, open)
		var mu sync.Mutex
		seen := map[int64]bool{}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 10 {
					var n int64
					err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) (err error) {
						n, err = sqldb.NextFeed(ctx, tx, "files/ns")
						return err
					})
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					seen[n] = true
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		for i := int64(1); i <= 80; i++ {
			if !seen[i] {
				t.Errorf("number %d is missing", i)
			}
		}
	})
}

func TestEnginesKeepTheContract(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, sqldbtest.Contract)
}

func TestABriefReadIsRefusedWhenItsContextHasEnded(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := things(t, open)
		ctx, cancel := context.WithCancel(t.Context())
		read := func() error {
			var n int
			return db.Read().QueryRowContext(db.Brief(ctx), "SELECT 1").Scan(&n)
		}
		if err := read(); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := read(); !errors.Is(err, context.Canceled) {
			t.Errorf("afterwards: %v", err)
		}
	})
}
