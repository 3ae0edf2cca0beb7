package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
)

// Log is SQLite's write-ahead log, kept for somebody who copies it (Options.KeepLog):
// a reading transaction that stays open keeps everybody, other processes too, from
// beginning the log anew; only Fold lets go.
type Log struct {
	engine *sqliteEngine
	pool   *sql.DB
	hold   *sql.Tx
	// file is the database's, for reading. It is closed after every connection: by
	// closing any file descriptor a process gives up the locks that it has on a file.
	file *os.File
	end  func()
}

// Log returns the log of a database that was opened to keep it, else nil.
func (db *DB) Log() *Log { return db.log }

// Path is where the log is. It may be opened and closed freely.
func (l *Log) Path() string { return l.engine.path + "-wal" }

// Database is the file without its log. Nobody else may open and close it.
func (l *Log) Database() *os.File { return l.file }

// AtEnd has fn called when the database is closed: nothing is written any more, and
// the log is still there.
func (l *Log) AtEnd(fn func()) { l.end = fn }

// keepLog begins to hold the log.
func (e *sqliteEngine) keepLog(ctx context.Context) (err error) {
	l := &Log{engine: e}
	if l.file, err = os.Open(e.path); err != nil {
		return err
	}
	e.db.log = l
	if l.pool, err = sqlitePool(e.path, e.db, true); err != nil {
		return err
	}
	return l.take(context.WithoutCancel(ctx))
}

// take begins a transaction that lasts until drop: its context must not end.
func (l *Log) take(ctx context.Context) (err error) {
	if l.hold, err = l.pool.BeginTx(ctx, nil); err != nil {
		return fmt.Errorf("hold the database's log: %w", err)
	}
	var n int64 // a transaction begins with its first look
	if err := l.hold.QueryRowContext(ctx, "SELECT COUNT(*) FROM sqlite_schema").Scan(&n); err != nil {
		return fmt.Errorf("hold the database's log: %w", err)
	}
	return nil
}

func (l *Log) drop() error {
	if l.hold == nil {
		return nil
	}
	err := l.hold.Rollback()
	l.hold = nil
	return err
}

// Fold writes the log into the database file, so that the next writer may begin it
// anew. The writer pauses meanwhile; look is called first, and may refuse. Fold
// tells how many frames the log had and how many of them are in the file now: when
// those are all, and as many as look has seen, nothing was missed. One may call it at
// a time, and should now and then: nobody else folds.
func (l *Log) Fold(ctx context.Context, look func() error) (frames, folded int64, err error) {
	w, ended := l.engine.groupWriter, make(chan struct{})
	turn := func() {
		defer close(ended)
		if err = protect(look); err != nil {
			return
		}
		//nolint:contextcheck // the connection outlives this call
		if err = errors.Join(w.connect(), l.drop()); err == nil {
			var busy int64
			err = w.conn.QueryRowContext(context.WithoutCancel(ctx), "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &frames, &folded)
		}
		err = errors.Join(err, l.take(context.WithoutCancel(ctx)))
	}
	select {
	case w.pauses <- turn:
		<-ended
		return frames, folded, err
	case <-w.stop:
		return 0, 0, ErrClosed
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	}
}

// release ends the hold. The file is closed by closeFile, later.
func (l *Log) release() error {
	if l == nil || l.pool == nil {
		return nil
	}
	if l.end != nil {
		l.end()
	}
	return errors.Join(l.drop(), l.pool.Close())
}

func (l *Log) closeFile() error {
	if l == nil {
		return nil
	}
	return l.file.Close()
}
