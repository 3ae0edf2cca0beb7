package app

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"path"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/blob/blobmem"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

// older are the migrations of a program that had one less of each service.
func older(t *testing.T) (sets []sqldb.Migrations, left int) {
	t.Helper()
	for _, set := range allMigrations() {
		files, last := fstest.MapFS{}, map[string]string{}
		err := fs.WalkDir(set.FS, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := fs.ReadFile(set.FS, name)
			files[name] = &fstest.MapFile{Data: text}
			last[path.Dir(name)] = max(last[path.Dir(name)], name)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range last {
			if path.Base(name)[:4] != "0001" {
				delete(files, name)
				left++
			}
		}
		sets = append(sets, sqldb.Migrations{Service: set.Service, FS: files})
	}
	return sets, left
}

func TestAnArchiveOfAnOlderProgramIsRestored(t *testing.T) {
	t.Parallel()
	sets, left := older(t)
	if left < 3 {
		t.Fatalf("only %d migrations were left out", left)
	}
	db := sqldbtest.Migrate(t, sqldbtest.SQLite(t), sets...)
	err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO app_keys (name, check_value) VALUES ('OLD_KEY', 'kept')`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if _, err := archive.Write(t.Context(), &text, archive.Place{
		DB: db, Blobs: blobmem.New(), Migrations: sets, Program: "older",
	}); err != nil {
		t.Fatal(err)
	}
	opt := Options{Log: slog.New(slog.DiscardHandler), Version: "newer"}
	data := filepath.Join(t.TempDir(), "data")
	if _, err := config.Load(&opt.Settings, config.Input{Flags: map[string]string{"CASTALIA_DATA": data}}); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), opt, &text, archive.Author{Unsigned: true}); err != nil {
		t.Fatal(err)
	}
	state, err := Migrate(t.Context(), opt, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range state {
		if m.Applied.IsZero() || m.Unknown {
			t.Errorf("%s %04d is not applied", m.Service, m.Version)
		}
	}
	restored := sqldbtest.Open(t, "sqlite:"+filepath.Join(data, sqldb.FileName), sqldb.Options{})
	kept := ""
	row := restored.Read().QueryRowContext(t.Context(), `SELECT check_value FROM app_keys WHERE name = 'OLD_KEY'`)
	if err := row.Scan(&kept); err != nil || kept != "kept" {
		t.Errorf("the row: %q, %v", kept, err)
	}
}
