package sqldb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// Backup writes a copy of a SQLite database, as it is at one moment, to a new
// file while readers and writers go on. The copy is compact, needs no other
// file beside it, and is on the disk when Backup returns; a failed or
// interrupted backup leaves no file of that name.
//
// PostgreSQL has tools of its own (pg_dump, base backups); there Backup refuses.
func (db *DB) Backup(ctx context.Context, path string) (err error) {
	e, ok := db.engine.(*sqliteEngine)
	if !ok {
		return fault.New(fault.Unimplemented, "PostgreSQL is backed up with its own tools, such as pg_dump.")
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("back up database: %s exists already", path)
	}
	part := path + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("back up database: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(part)
		}
	}()
	// Made here and empty, so that it is the owner's alone from the start.
	file, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("back up database: %w", err)
	}
	defer func() { _ = file.Close() }()
	if err := e.copyTo(ctx, part); err != nil {
		return fmt.Errorf("back up database: %w", err)
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("back up database: %w", err)
	}
	if err := os.Rename(part, path); err != nil {
		return fmt.Errorf("back up database: %w", err)
	}
	return syncFolder(filepath.Dir(path))
}

// copyTo runs VACUUM INTO on a connection of its own: it is long, and the
// readers' may not write, not even elsewhere.
func (e *sqliteEngine) copyTo(ctx context.Context, path string) (err error) {
	pool, err := sqlitePool(e.path, e.db, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	_, err = pool.ExecContext(ctx, "VACUUM INTO $1", path)
	return err
}

func syncFolder(path string) (err error) {
	dir, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	if err := errors.Join(dir.Sync(), dir.Close()); err != nil {
		return fmt.Errorf("sync folder %s: %w", path, err)
	}
	return nil
}
