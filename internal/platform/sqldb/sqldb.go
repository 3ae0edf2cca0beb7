// Package sqldb is the one door to the database: SQLite in the embedded shape,
// PostgreSQL in a fleet, one SQL text for both.
//
// It promises:
//
//   - Write is the only way to change something. When it returns nil the change
//     is durable, and every Read that starts afterwards sees it.
//   - Functions handed to Write behave as if they ran one after the other, on
//     both engines. A function that fails, panics or loses its context leaves
//     nothing behind and harms no other function.
//   - On SQLite functions that wait at the same time share one synced COMMIT.
//   - After a failed statement a transaction refuses to go on, on both engines,
//     so that what passes on SQLite does not surprise on PostgreSQL.
//   - Text is UTF-8 without NUL, on both engines; anything else is refused.
//   - A database that is away, or does not answer, is a fault.Unavailable, and
//     comes back by itself. Nobody waits for it for ever.
//
// It refuses to rewrite SQL at run time. Write $1, $2… for arguments, ON CONFLICT
// and RETURNING as both engines know them, times as integer milliseconds (MS,
// Time), and name every column: SELECT * breaks when a newer node adds one. What
// differs between the engines is in dialect.go and, for tables, in the words
// that Migrations may use.
//
// Decisions: ADR 0003, ADR 0010, ADR 0011, ADR 0012, ADR 0082.
package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// Querier is what statements are run on: a transaction inside Write and
// Snapshot, or the pool of readers.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Options tune a database. The zero value is what production uses.
type Options struct {
	// Logger hears of retries and recoveries. Nil is silent.
	Logger *slog.Logger
	// MaxReaders bounds the connections that read; 0 chooses.
	MaxReaders int
	// MaxWriters bounds the PostgreSQL connections that write; 0 chooses.
	// SQLite always has one.
	MaxWriters int
	// MaxQueue bounds the writes that wait on SQLite; 0 chooses. A full queue
	// makes writers wait until their context ends.
	MaxQueue int
	// KeepLog has SQLite's log begun anew by Log.Fold alone.
	KeepLog bool
	// Fault, when set, is asked before each trip to the database and may answer
	// with an error instead. It exists for tests of outages: see sqldbtest.Breaker.
	Fault func(Stage) error
	// Seen, when set, is told every statement with its arguments. It exists for tests
	// of what statements read: see sqldbtest.Reads.
	Seen func(query string, args []driver.NamedValue)
	// dial, when set, replaces the line to PostgreSQL, for tests of this package.
	dial pgconn.DialFunc
}

// Stage tells a Fault hook which step is about to happen.
type Stage uint8

// The stages at which a Fault hook is asked.
const (
	// StageConnect is before a connection is opened.
	StageConnect Stage = iota
	// StageStatement is before a statement (or the start of a transaction).
	StageStatement
	// StageCommit is before COMMIT.
	StageCommit
	// StageCommitted is after a COMMIT that succeeded: an error here is an
	// acknowledgement that got lost.
	StageCommitted
)

// pingLimit is how long Ping waits before it calls the database disconnected.
const pingLimit = time.Second

// DB is an open database. It is safe for concurrent use.
type DB struct {
	dialect Dialect
	opt     Options
	readers *sql.DB
	writers *sql.DB
	engine  engine
	counts  counters
	room    atomic.Pointer[func(context.Context) error] // see KeepRoom
	guest   bool                                        // somebody else owns the file: see OpenReadOnly
	log     *Log                                        // see Options.KeepLog
	// platformReady is set once this process has seen the tables of this package.
	platformReady atomic.Bool
}

// engine is what differs between SQLite and PostgreSQL at run time.
type engine interface {
	write(ctx context.Context, fn writeFunc) error
	writeOne(ctx context.Context, query string, args []any) (int64, error)
	ping(ctx context.Context) error
	waiting() int
	short() bool
	migrate(ctx context.Context, fn writeFunc) error
	close()
}

type writeFunc func(ctx context.Context, tx Querier) error

// Open opens the database at url: "sqlite:/path/to/file.db" or "postgres://…".
// It reaches the database before it returns, so a wrong address is found at the start.
func Open(ctx context.Context, url string, opt Options) (*DB, error) {
	opt = opt.withLogger()
	switch {
	case strings.HasPrefix(url, "sqlite:"):
		return openSQLite(ctx, strings.TrimPrefix(url, "sqlite:"), opt)
	case strings.HasPrefix(url, "postgres://"), strings.HasPrefix(url, "postgresql://"):
		return openPostgres(ctx, url, opt)
	}
	scheme, _, _ := strings.Cut(url, ":")
	return nil, fmt.Errorf("open database: address starts with %q, want sqlite: or postgres://", scheme)
}

func (o Options) withLogger() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Dialect says which engine this is.
func (db *DB) Dialect() Dialect { return db.dialect }

// Logger returns the logger that the database was opened with, for parts that
// work on its behalf.
func (db *DB) Logger() *slog.Logger { return db.opt.Logger }

// Write runs fn in a transaction and returns nil once its changes are durable.
//
// fn may run more than once, so it must have no effect outside tx; it does no
// other I/O and no slow work, because on SQLite everyone waits for it. It must
// not call Write (refused) and must not keep tx. When ctx ends while the write
// waits, it is not done; when ctx ends while fn runs, it is rolled back; once
// fn has returned, the outcome of the commit is awaited and told.
func (db *DB) Write(ctx context.Context, fn func(ctx context.Context, tx Querier) error) error {
	if err := db.admit(ctx); err != nil {
		return err
	}
	return db.engine.write(ctx, fn)
}

// admit is what every write passes first.
func (db *DB) admit(ctx context.Context) error {
	if ctx.Value(writingKey{}) == any(db) {
		return errors.New("write inside a write: hand the transaction down instead")
	}
	db.counts.writes.Add(1)
	if room := db.room.Load(); room != nil && ctx.Err() == nil {
		return (*room)(ctx)
	}
	return ctx.Err()
}

// KeepRoom has every write ask for room first. A program that starts has not called
// this yet: it must come up on a full disk too.
func (db *DB) KeepRoom(room func(context.Context) error) { db.room.Store(&room) }

// slowFunction is how long a write function may take before it is named in the
// log: on SQLite everybody waited for it.
const slowFunction = 100 * time.Millisecond

// call runs a write function on its transaction and returns what became of it.
func (db *DB) call(ctx context.Context, h *handle, fn writeFunc) error {
	inside := context.WithValue(ctx, writingKey{}, db)
	start := time.Now()
	err := h.finish(ctx, protect(func() error { return fn(inside, h) }))
	if !h.parts {
		db.noteSlow(ctx, start, fn)
	}
	return err
}

// Part runs one of several functions that share a write, from within it: each has its own
// time to take, and its panic is an error of its own.
func (db *DB) Part(ctx context.Context, tx Querier, fn func(ctx context.Context, tx Querier) error) error {
	if h, ok := tx.(*handle); ok {
		h.parts = true
	}
	defer db.noteSlow(ctx, time.Now(), fn)
	return protect(func() error { return fn(ctx, tx) })
}

// noteSlow names a function that took too long.
func (db *DB) noteSlow(ctx context.Context, start time.Time, fn writeFunc) {
	if took := time.Since(start); took > slowFunction {
		db.counts.slow.Add(1)
		db.opt.Logger.WarnContext(ctx, "write function was slow", slog.String("event", "database.write_slow"), slog.Duration("took", took), slog.String("function", functionName(fn)))
	}
}

// functionName names the code that a function value stands for.
func functionName(fn writeFunc) string {
	if f := runtime.FuncForPC(reflect.ValueOf(fn).Pointer()); f != nil {
		return f.Name()
	}
	return "unknown"
}

// writingKey marks the contexts that are handed to write functions.
type writingKey struct{}

// Read returns the pool of readers. Each statement sees everything that was
// committed before it started; it cannot write.
func (db *DB) Read() Querier { return db.readers }

// Brief is ctx for a statement that reads a few rows. SQLite answers it from this process, sooner
// than it could be told to stop: nobody listens for the end of ctx meanwhile, which takes
// two goroutines. A ctx that has ended before it runs still refuses it.
func (db *DB) Brief(ctx context.Context) context.Context {
	if db.dialect != SQLite {
		return ctx
	}
	return brief{ctx}
}

// brief is a context that has an end and does not tell when.
type brief struct{ context.Context } //nolint:containedctx // it is one

func (brief) Done() <-chan struct{} { return nil }

// Snapshot runs fn in a read-only transaction: all its statements see one state.
func (db *DB) Snapshot(ctx context.Context, fn func(ctx context.Context, tx Querier) error) error {
	tx, err := db.readers.BeginTx(ctx, snapshotOptions(db.dialect))
	if err != nil {
		return fmt.Errorf("begin snapshot: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	return protect(func() error { return fn(ctx, tx) })
}

// Now returns the database's clock. A fleet shares PostgreSQL's; on SQLite,
// which belongs to one process, it is that process's own.
func (db *DB) Now(ctx context.Context) (time.Time, error) { return db.NowIn(ctx, db.readers) }

// NowIn is Now asked inside a transaction.
func (db *DB) NowIn(ctx context.Context, tx Querier) (time.Time, error) {
	if db.dialect == SQLite {
		return Time(MS(time.Now())), nil
	}
	var ms int64
	if err := tx.QueryRowContext(ctx, "SELECT "+db.dialect.NowMS()).Scan(&ms); err != nil {
		return time.Time{}, fmt.Errorf("ask the database's clock: %w", err)
	}
	return Time(ms), nil
}

// Ping reports whether the database answers, within a second.
func (db *DB) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, pingLimit,
		fault.New(fault.Unavailable, "The database does not answer."))
	defer cancel()
	if err := db.engine.ping(ctx); err != nil {
		return fmt.Errorf("ping database: %w", err)
	}
	return nil
}

// Close lets accepted writes finish and closes every connection.
func (db *DB) Close() error {
	db.engine.close()
	return errors.Join(db.log.release(), db.writers.Close(), db.readers.Close(), db.log.closeFile())
}

// Stats are counters since the database was opened.
type Stats struct {
	Writes  int64 // calls of Write
	Commits int64 // COMMITs that succeeded
	Retries int64 // functions run again after a conflict or a lost connection
	Slow    int64 // functions that took more than 100 ms
	Waiting int   // writes that wait now: in SQLite's queue, or for a PostgreSQL connection
	Readers sql.DBStats
	Writers sql.DBStats
	// Short says that the server has fewer connections than this node wants.
	Short bool
}

type counters struct{ writes, commits, retries, slow atomic.Int64 }

// Stats returns the counters.
func (db *DB) Stats() Stats {
	return Stats{
		Writes:  db.counts.writes.Load(),
		Commits: db.counts.commits.Load(),
		Retries: db.counts.retries.Load(),
		Slow:    db.counts.slow.Load(),
		Waiting: db.engine.waiting(),
		Readers: db.readers.Stats(),
		Writers: db.writers.Stats(),
		Short:   db.engine.short(),
	}
}

// MS is how a time is stored: milliseconds since 1970, rounded down.
func MS(t time.Time) int64 { return t.UnixMilli() }

// Time is the inverse of MS, in UTC.
func Time(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
