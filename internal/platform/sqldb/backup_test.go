package sqldb_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/test/testenv"
)

func TestABackupIsOneMomentOfALiveDatabase(t *testing.T) {
	t.Parallel()
	db := sqliteThings(t, sqldb.Options{})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	// Writers keep an invariant that a torn copy would break: rows come in pairs.
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				_ = db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
					for _, half := range []string{"left", "right"} {
						if err := insert(fmt.Sprintf("%d/%d/%s", w, i, half))(ctx, tx); err != nil {
							return err
						}
					}
					return nil
				})
			}
		})
	}
	path := filepath.Join(t.TempDir(), "it's a copy.db")
	for db.Stats().Commits < 10 { // let some be there
		mustWrite(t, db, func(context.Context, sqldb.Querier) error { return nil })
	}
	before := count(t, db)
	if err := db.Backup(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	stop()
	wg.Wait()

	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy: %v, %v", info, err)
	}
	restored := sqldbtest.Open(t, "sqlite:"+path, sqldb.Options{})
	if n := count(t, restored); n < before || n%2 != 0 {
		t.Errorf("the copy has %d rows, the database had %d; want no half pairs", n, before)
	}
	if problems, err := restored.Check(t.Context(), true); err != nil || problems != nil {
		t.Errorf("check of the copy: %q, %v", problems, err)
	}
	if err := db.Backup(t.Context(), path); err == nil {
		t.Error("a backup replaced an existing file")
	}
}

func TestAFailedBackupLeavesNoFile(t *testing.T) {
	t.Parallel()
	db := sqliteThings(t, sqldb.Options{})
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.Backup(ctx, filepath.Join(dir, "copy.db")); err == nil {
		t.Error("a cancelled backup succeeded")
	}
	if err := db.Backup(t.Context(), filepath.Join(dir, "no", "such", "folder.db")); err == nil {
		t.Error("a backup into no folder succeeded")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestPostgresIsBackedUpByItsOwnTools(t *testing.T) {
	t.Parallel()
	db := sqldbtest.Open(t, testenv.Postgres(t), sqldb.Options{})
	if err := db.Backup(t.Context(), filepath.Join(t.TempDir(), "x")); !fault.Is(err, fault.Unimplemented) {
		t.Errorf("Backup: %v", err)
	}
}

func TestCheckFindsLooseTables(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := open(t)
		if err := db.Migrate(t.Context(), set("0001_first.sql", `CREATE TABLE demo_loose (id TEXT PRIMARY KEY)`)); err != nil {
			t.Fatal(err)
		}
		for _, deep := range []bool{false, true} {
			problems, err := db.Check(t.Context(), deep)
			if err != nil || len(problems) != 1 || !strings.Contains(problems[0], "demo_loose") {
				t.Errorf("Check: %q, %v", problems, err)
			}
		}
	})
}

func TestCheckFindsDamage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "castalia.db")
	db, err := sqldb.Open(t.Context(), "sqlite:"+path, sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sqldbtest.Migrate(t, db, set("0001_first.sql", firstTable))
	for i := range 50 {
		mustWrite(t, db, insert(fmt.Sprintf("%0500d", i)))
	}
	if problems, err := db.Check(t.Context(), true); err != nil || problems != nil {
		t.Fatalf("a sound database: %q, %v", problems, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt([]byte(strings.Repeat("\xff", 64)), info.Size()-4096); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	hurt := sqldbtest.Open(t, "sqlite:"+path, sqldb.Options{})
	if problems, err := hurt.Check(t.Context(), false); err == nil && problems == nil {
		t.Error("damage was not found")
	}
}
