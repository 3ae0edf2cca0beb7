package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb/pgline"
)

// IsUnique reports that a statement would have made two rows equal where a
// primary key or a unique index forbids it.
func IsUnique(err error) bool {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY ||
			e.Code() == sqlite3.SQLITE_CONSTRAINT_ROWID
	}
	return sqlState(err) == "23505"
}

// IsSerialization reports that a transaction lost against another one and may
// be tried again. Write does so by itself; what it returns has failed many times.
func IsSerialization(err error) bool {
	switch sqlState(err) {
	case "40001", "40P01":
		return true
	}
	return false
}

// IsUnavailable reports that the database cannot be reached for now.
func IsUnavailable(err error) bool { return fault.Is(err, fault.Unavailable) }

// IsReadOnly reports that the database takes no writes: it was fenced, is a
// standby, or its file may not be changed.
func IsReadOnly(err error) bool {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()&0xff == sqlite3.SQLITE_READONLY
	}
	return sqlState(err) == "25006"
}

func sqlState(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// classify gives a driver's error the kind that a surface can answer with. What
// is the caller's business (constraints, syntax, the end of rows) stays as it is.
func classify(err error) error {
	switch {
	case err == nil, err == io.EOF, //nolint:errorlint // the driver's own end of rows
		errors.Is(err, driver.ErrSkip), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	if _, done := errors.AsType[*fault.Error](err); done {
		return err
	}
	switch kindOf(err) {
	case fault.Unavailable:
		return unavailable(err)
	case fault.StorageFull:
		return fault.Wrap(fault.StorageFull, "The database is full.", err)
	case fault.Invalid:
		return fault.Wrap(fault.Invalid, "Text must be UTF-8 without NUL characters.", err)
	}
	return err
}

func unavailable(err error) error {
	return fault.Wrap(fault.Unavailable, "The database is not available.", err).WithRetryAfter(time.Second)
}

func kindOf(err error) fault.Kind {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_FULL:
			return fault.StorageFull
		case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM,
			sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT:
			return fault.Unavailable
		}
		return fault.Internal
	}
	if state := sqlState(err); state != "" {
		return kindOfState(state)
	}
	if errors.Is(err, pgline.ErrPooled) {
		return fault.Internal // waiting would not help
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return fault.Unavailable
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return fault.Unavailable
	}
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, io.EOF) || pgconn.SafeToRetry(err) {
		return fault.Unavailable
	}
	return fault.Internal
}

func kindOfState(state string) fault.Kind {
	switch state {
	case "53100": // disk full
		return fault.StorageFull
	case "22021", "22P05": // a character that the encoding does not have
		return fault.Invalid
	case "57P01", "57P02", "57P03", "57P05", "25P03", "53000", "53200", "53300", "53400", "25006":
		return fault.Unavailable
	}
	if state[:2] == "08" || state[:2] == "58" {
		return fault.Unavailable
	}
	return fault.Internal
}

// retryable reports errors after which running the function again is right: its
// transaction has certainly not been committed, and the next try may be.
func retryable(err error) bool {
	return IsSerialization(err) || errors.Is(err, errLaneTaken) ||
		sqlState(err) == "0A000" // a plan that an older schema left behind on this connection
}

// commitError is a COMMIT whose outcome may be unknown.
type commitError struct{ cause error }

func (e *commitError) Error() string { return "commit: " + e.cause.Error() }
func (e *commitError) Unwrap() error { return e.cause }

// lost reports that the connection went away before the commit, so that nothing
// of the transaction is stored and another connection may do better.
func lost(err error) bool {
	_, committing := errors.AsType[*commitError](err)
	return !committing && IsUnavailable(err)
}
