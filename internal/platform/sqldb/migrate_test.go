package sqldb_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/test/testenv"
)

func set(files ...string) sqldb.Migrations {
	m := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		m[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return sqldb.Migrations{Service: "demo", FS: m}
}

const (
	firstTable  = `CREATE TABLE demo_things (id {{text}} NOT NULL PRIMARY KEY) {{clustered}};`
	secondTable = `CREATE TABLE demo_others (id {{int}} NOT NULL PRIMARY KEY) {{table}}; ALTER TABLE demo_things ADD COLUMN n {{int}} NOT NULL DEFAULT 7;`
)

func states(t *testing.T, db *sqldb.DB, m sqldb.Migrations) []string {
	t.Helper()
	list, err := db.MigrationStatus(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range list {
		state := "applied"
		if f.Applied.IsZero() {
			state = "pending"
		}
		if f.Unknown {
			state = "unknown"
		}
		all = append(all, f.Name+" "+state)
	}
	return all
}

func TestMigrationsAreAppliedOnceAndInOrder(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := open(t)
		both := set("0001_first.sql", firstTable, "0002_second.sql", secondTable)
		if diff := cmp.Diff([]string{"first pending", "second pending"}, states(t, db, both)); diff != "" {
			t.Errorf("empty database (-want +got):\n%s", diff)
		}
		old := set("0001_first.sql", firstTable)
		sqldbtest.Migrate(t, db, old)
		mustWrite(t, db, insert("kept"))
		if diff := cmp.Diff([]string{"first applied", "second pending"}, states(t, db, both)); diff != "" {
			t.Errorf("old database (-want +got):\n%s", diff)
		}
		sqldbtest.Migrate(t, db, both, both)
		var n int
		if err := db.Read().QueryRowContext(t.Context(), `SELECT n FROM demo_things WHERE id = 'kept'`).Scan(&n); err != nil || n != 7 {
			t.Errorf("new column: %d, %v", n, err)
		}
		// The previous release starts on the new schema: rolling upgrades need it.
		sqldbtest.Migrate(t, db, old)
		if diff := cmp.Diff([]string{"first applied", "second unknown"}, states(t, db, old)); diff != "" {
			t.Errorf("new database, old program (-want +got):\n%s", diff)
		}
		mustWrite(t, db, insert("by the old program"))
	})
}

func TestAChangedMigrationIsRefused(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), set("0001_first.sql", firstTable))
		err := db.Migrate(t.Context(), set("0001_first.sql", firstTable+" "))
		if err == nil || !strings.Contains(err.Error(), "0001_first") {
			t.Errorf("changed migration: %v", err)
		}
	})
}

func TestAFailedMigrationLeavesNothing(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := open(t)
		err := db.Migrate(t.Context(), set("0001_first.sql", firstTable, "0002_bad.sql", "CREATE TABLE demo_x (id {{int}}); NONSENSE;"))
		if err == nil || !strings.Contains(err.Error(), "0002_bad") {
			t.Errorf("bad migration: %v", err)
		}
		sqldbtest.Migrate(t, db, set("0001_first.sql", firstTable, "0002_second.sql", secondTable))
	})
}

func TestNodesThatStartTogetherMigrateOnce(t *testing.T) {
	t.Parallel()
	address := testenv.Postgres(t)
	var wg sync.WaitGroup
	for range 6 {
		node := sqldbtest.Open(t, address, sqldb.Options{})
		wg.Go(func() {
			if err := node.Migrate(t.Context(), set("0001_first.sql", firstTable, "0002_second.sql", secondTable)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestEnginesMayHaveTheirOwnFiles(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), set(
			"sqlite/0001_first.sql", `CREATE TABLE demo_things (id TEXT PRIMARY KEY, body BLOB) STRICT;`,
			"postgres/0001_first.sql", `CREATE TABLE demo_things (id TEXT COLLATE "C" PRIMARY KEY, body BYTEA);`))
		mustWrite(t, db, insert("one"))
	})
}

func TestBadSetsAreRefused(t *testing.T) {
	t.Parallel()
	db := sqldbtest.SQLite(t)
	for name, m := range map[string]sqldb.Migrations{
		"no files":       set(),
		"gap":            set("0001_a.sql", "SELECT 1", "0003_b.sql", "SELECT 1"),
		"double":         set("0001_a.sql", "SELECT 1", "0001_b.sql", "SELECT 1"),
		"bad name":       set("1_a.sql", "SELECT 1"),
		"unknown word":   set("0001_a.sql", "CREATE TABLE x (id {{uuid}})"),
		"service's name": {Service: "Robert'); --", FS: fstest.MapFS{"0001_a.sql": {Data: []byte("SELECT 1")}}},
	} {
		if err := db.Migrate(t.Context(), m); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestAFileInAFolderWithAnOddName(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a b?c%20#d;é")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "castalia.db")
	db := things(t, func(t *testing.T) *sqldb.DB { return sqldbtest.Open(t, "sqlite:"+path, sqldb.Options{}) })
	mustWrite(t, db, insert("one"))
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("the file's mode is %o", mode)
	}
	for _, file := range []string{path, path + "-wal"} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v (%v)", file, info.Mode(), err)
		}
	}
}

func TestSQLiteIsDurableAndChecked(t *testing.T) {
	t.Parallel()
	db := sqldbtest.SQLite(t)
	err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
		for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"} {
			var got string
			if err := tx.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(&got); err != nil {
				return err
			}
			if got != want {
				t.Errorf("%s is %s, want %s", pragma, got, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTendingTeachesThePlanner(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := things(t, open)
		mustWrite(t, db, func(ctx context.Context, tx sqldb.Querier) error {
			_, err := tx.ExecContext(ctx, `CREATE INDEX demo_things_n ON demo_things (n)`)
			return err
		})
		mustWrite(t, db, func(ctx context.Context, tx sqldb.Querier) error {
			for i := range 500 {
				if _, err := tx.ExecContext(ctx, `INSERT INTO demo_things (id, n) VALUES ($1, $2)`, strings.Repeat("x", i+1), i%2); err != nil {
					return err
				}
			}
			return nil
		})
		if err := db.Optimize(t.Context()); err != nil {
			t.Fatal(err)
		}
		if db.Dialect() == sqldb.SQLite {
			var n int
			if err := db.Read().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM sqlite_stat1 WHERE tbl = 'demo_things'`).Scan(&n); err != nil || n == 0 {
				t.Errorf("%d lines of statistics (%v)", n, err)
			}
		}
		if problems, err := db.Check(t.Context(), true); err != nil || problems != nil {
			t.Errorf("check: %q, %v", problems, err)
		}
	})
}
