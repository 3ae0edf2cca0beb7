package sqldb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ErrReadOnly is what a database says that was opened by OpenReadOnly.
var ErrReadOnly = errors.New("the database was opened for reading only")

// OpenReadOnly opens a database that is there already, to look at it beside the
// program that owns it: it makes no file, changes nothing, and refuses Write. On
// SQLite a file that is missing is fs.ErrNotExist.
func OpenReadOnly(ctx context.Context, url string, opt Options) (*DB, error) {
	path, embedded := strings.CutPrefix(url, "sqlite:")
	if !embedded {
		db, err := Open(ctx, url, opt)
		if err != nil {
			return nil, err
		}
		db.engine = readOnlyEngine{engine: db.engine}
		return db, nil
	}
	path, err := filepath.Abs(strings.TrimPrefix(path, "//"))
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	db := &DB{dialect: SQLite, opt: opt.withLogger(), guest: true}
	if db.readers, err = sqlitePool(path, db, true); err != nil {
		return nil, err
	}
	db.writers = db.readers // nothing is ever written by it
	db.engine = readOnlyEngine{look: &sqliteEngine{db: db, path: path, file: info}}
	if err := db.engine.ping(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", path, err), db.Close())
	}
	return db, nil
}

// readOnlyEngine refuses every write. On PostgreSQL it stands in front of an
// engine; on SQLite, where a writer would be a connection that may change the
// file, there is none.
type readOnlyEngine struct {
	engine
	look *sqliteEngine
}

func (readOnlyEngine) write(context.Context, writeFunc) error { return ErrReadOnly }

func (readOnlyEngine) writeOne(context.Context, string, []any) (int64, error) {
	return 0, ErrReadOnly
}

func (readOnlyEngine) migrate(context.Context, writeFunc) error { return ErrReadOnly }

func (e readOnlyEngine) ping(ctx context.Context) error {
	if e.look != nil {
		return e.look.look(ctx)
	}
	return e.engine.ping(ctx)
}

func (e readOnlyEngine) short() bool { return false }

func (e readOnlyEngine) waiting() int {
	if e.look != nil {
		return 0
	}
	return e.engine.waiting()
}

func (e readOnlyEngine) close() {
	if e.look == nil {
		e.engine.close()
	}
}
