package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"modernc.org/sqlite"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// FileName is the database's name in the data folder.
const FileName = "castalia.db"

// sqliteEngine is the embedded database: one file in WAL mode, one writing
// connection, a pool of reading ones.
type sqliteEngine struct {
	*groupWriter
	db   *DB
	path string
	file os.FileInfo
}

func openSQLite(ctx context.Context, path string, opt Options) (*DB, error) {
	if path == "" || strings.HasPrefix(path, ":") {
		return nil, errors.New("open database: sqlite: needs the path of a file")
	}
	path, err := filepath.Abs(strings.TrimPrefix(path, "//"))
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	// A new file is ours alone: chat text and telephone numbers are in it.
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	info, err := file.Stat()
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}

	db := &DB{dialect: SQLite, opt: opt}
	if db.writers, err = sqlitePool(path, db, false); err != nil {
		return nil, err
	}
	db.writers.SetMaxOpenConns(1)
	if db.readers, err = sqlitePool(path, db, true); err != nil {
		return nil, err
	}
	readers := opt.MaxReaders
	if readers <= 0 {
		readers = max(8, 2*runtime.GOMAXPROCS(0))
	}
	db.readers.SetMaxOpenConns(readers)
	db.readers.SetMaxIdleConns(readers)

	// The first writing connection turns the file to WAL, before any reader.
	if err := db.writers.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", path, err), db.writers.Close(), db.readers.Close())
	}
	//nolint:contextcheck // the writer outlives this call
	e := &sqliteEngine{groupWriter: newGroupWriter(db), db: db, path: path, file: info}
	db.engine = e
	if err := e.ping(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", path, err), db.Close())
	}
	if opt.KeepLog {
		if err := e.keepLog(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("open database %s: %w", path, err), db.Close())
		}
	}
	return db, nil
}

// sqlitePool describes connections to path. Every pragma is given by its
// connection, so that a connection that database/sql opens later has them too.
func sqlitePool(path string, db *DB, readOnly bool) (*sql.DB, error) {
	q := url.Values{}
	q.Set("_busy_timeout", "5000")             // another process: backup, doctor
	q.Set("_dqs", "0")                         // "x" is a column, never a text
	q.Add("_pragma", "case_sensitive_like(1)") // as PostgreSQL's
	q.Add("_pragma", "foreign_keys(1)")
	q.Add("_pragma", "temp_store(memory)")
	q.Add("_pragma", "trusted_schema(0)")
	if db.guest {
		q.Set("mode", "ro") // not even a checkpoint when it closes
	}
	if readOnly {
		q.Set("_query_only", "1")
	} else {
		q.Set("_journal_mode", "WAL")
		q.Set("_synchronous", "FULL") // acknowledged means durable
		q.Add("_pragma", "journal_size_limit(67108864)")
		q.Add("_pragma", "cache_size(-16384)")
		fold := 1000 // pages, 4 MB: a larger log takes the room that a full disk keeps for deletes
		if db.opt.KeepLog {
			fold = 0 // Log.Fold does it
		}
		q.Add("_pragma", fmt.Sprintf("wal_autocheckpoint(%d)", fold))
	}
	c, err := sqlite.NewConnector((&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	return sql.OpenDB(sqliteConnector{Connector: c, fault: db.opt.Fault, seen: db.opt.Seen}), nil
}

// ping looks at the file, and has the writer take an empty turn.
func (e *sqliteEngine) ping(ctx context.Context) error {
	turn := make(chan error, 1)
	go func() { turn <- e.write(ctx, func(context.Context, Querier) error { return nil }) }()
	select {
	case err := <-turn:
		if err != nil {
			return err
		}
	case <-ctx.Done(): // the writer is stuck; the turn ends when it is not
		return context.Cause(ctx)
	}
	return e.look(ctx)
}

// look reads the file's first page, and checks that the path still leads to the
// file that is open: SQLite would go on writing to a deleted one.
func (e *sqliteEngine) look(ctx context.Context) error {
	var n int64
	if err := e.db.readers.QueryRowContext(ctx, "PRAGMA schema_version").Scan(&n); err != nil {
		return err
	}
	info, err := os.Stat(e.path)
	if err != nil || !os.SameFile(info, e.file) {
		return fault.Wrap(fault.Unavailable, "The database is not available.",
			errors.Join(errors.New("the database file was moved or deleted"), err))
	}
	return nil
}

func (e *sqliteEngine) migrate(ctx context.Context, fn writeFunc) error { return e.write(ctx, fn) }
