package sqldb_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

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
