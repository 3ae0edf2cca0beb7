package sqldb_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/test/testenv"
)

func TestReadOnlySeesWhatTheOwnerWritesAndWritesNothing(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]func(testing.TB) string{"sqlite": sqldbtest.SQLiteURL, "postgres": testenv.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			readOnlyBesideOwner(t, address(t))
		})
	}
}

func readOnlyBesideOwner(t *testing.T, url string) {
	owner := sqldbtest.Open(t, url, sqldb.Options{})
	next := func(db *sqldb.DB) error {
		return db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
			_, err := sqldb.NextFeedN(ctx, tx, "a feed", 1)
			return err
		})
	}
	if err := errors.Join(owner.Migrate(t.Context(), sqldb.Platform()), next(owner)); err != nil {
		t.Fatal(err)
	}
	guest, err := sqldb.OpenReadOnly(t.Context(), url, sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = guest.Close() }()
	for want := int64(1); want < 4; want++ {
		var n int64
		err := guest.Read().QueryRowContext(t.Context(), `SELECT last FROM platform_feeds WHERE name = 'a feed'`).Scan(&n)
		if err = errors.Join(err, next(owner)); err != nil || n != want {
			t.Fatalf("the feed is at %d, want %d: %v", n, want, err)
		}
	}
	if err := next(guest); !errors.Is(err, sqldb.ErrReadOnly) {
		t.Errorf("a write: %v", err)
	}
	if err := guest.Migrate(t.Context(), sqldb.Platform()); err != nil && !errors.Is(err, sqldb.ErrReadOnly) {
		t.Errorf("a migration: %v", err)
	}
	if _, err := guest.Read().ExecContext(t.Context(), `UPDATE platform_feeds SET last = 0`); err == nil {
		t.Error("the readers wrote")
	}
	if err := guest.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if problems, err := guest.Check(t.Context(), true); err != nil || len(problems) > 0 {
		t.Errorf("check: %v %v", problems, err)
	}
}

func TestReadOnlyMakesNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := sqldb.OpenReadOnly(t.Context(), "sqlite:"+filepath.Join(dir, sqldb.FileName),
		sqldb.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a database that is not there: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestADatabaseThatTakesNoWritesSaysSo on both engines.
func TestADatabaseThatTakesNoWritesSaysSo(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := things(t, open)
		statement := "PRAGMA query_only = 1"
		if db.Dialect() == sqldb.Postgres {
			statement = "SET TRANSACTION READ ONLY"
		}
		err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
			return insert("refused")(ctx, tx)
		})
		if !sqldb.IsReadOnly(err) || !sqldb.IsUnavailable(err) {
			t.Errorf("%v", err)
		}
		if err := db.Write(t.Context(), insert("taken")); err != nil || sqldb.IsReadOnly(err) {
			t.Errorf("afterwards: %v", err)
		}
	})
}
