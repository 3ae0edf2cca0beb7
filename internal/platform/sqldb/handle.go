package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/sqldb/pgline"
)

// handle is the transaction that a write function sees. It gives both engines
// the same manners: after a failed statement nothing more is accepted, after
// the function has returned neither.
type handle struct {
	q Querier
	// detached runs statements without the caller's context: an interrupted
	// statement would make SQLite roll back everybody in the batch. The context
	// is looked at before each statement instead.
	detached bool
	// pass holds the lanes of a PostgreSQL transaction.
	pass *pgline.Pass
	err  error
	over bool
	// shared has what is written once for all functions of the transaction; nil where each
	// writes its own.
	shared *gatherer
	// wrote tells that a statement may have changed something.
	wrote bool
	// parts says that the function is made of others, which are timed one by one.
	parts bool
	// rows and row are the last results handed out, for closeRows.
	rows *sql.Rows
	row  *sql.Row
}

var errTxOver = errors.New("transaction used after its function returned")

func (h *handle) check(ctx context.Context) error {
	switch {
	case h.over:
		return errTxOver
	case h.err != nil:
		return fmt.Errorf("earlier statement of this transaction failed: %w", h.err)
	}
	return ctx.Err()
}

// settled looks at check, and writes what was gathered and a statement may read.
func (h *handle) settled(ctx context.Context, query string) error {
	if err := h.check(ctx); err != nil || h.shared == nil {
		return err
	}
	return h.shared.before(h.q, query) //nolint:contextcheck // what is shared by functions does not end with one
}

func (h *handle) context(ctx context.Context) context.Context {
	if h.detached {
		return context.Background()
	}
	return ctx
}

func (h *handle) note(err error) error {
	if err != nil && h.err == nil && !errors.Is(err, sql.ErrNoRows) {
		h.err = err
	}
	return err
}

// ExecContext implements Querier.
func (h *handle) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := h.settled(ctx, query); err != nil {
		return nil, h.note(err)
	}
	res, err := h.q.ExecContext(h.context(ctx), query, args...)
	if err == nil && h.detached {
		h.wrote = h.wrote || changed(query, res)
	}
	return res, h.note(err)
}

// QueryContext implements Querier.
func (h *handle) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := h.settled(ctx, query); err != nil {
		return nil, h.note(err)
	}
	rows, err := h.q.QueryContext(h.context(ctx), query, args...)
	h.rows = rows
	h.wrote = h.wrote || err == nil && keyword(query) != "SELECT"
	return rows, h.note(err)
}

// QueryRowContext implements Querier.
func (h *handle) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if err := h.settled(ctx, query); err != nil {
		_ = h.note(err)
		// database/sql offers no other way to make a Row that reports an error.
		return h.q.QueryRowContext(failedContext{ctx, err}, query, args...) //nolint:contextcheck // it wraps ctx
	}
	row := h.q.QueryRowContext(h.context(ctx), query, args...)
	h.row = row
	h.wrote = h.wrote || row.Err() == nil && keyword(query) != "SELECT"
	_ = h.note(row.Err())
	return row
}

// changed reports whether a statement that was done may have changed something. What it
// cannot tell counts as a change.
func changed(query string, res sql.Result) bool {
	switch keyword(query) {
	case "SELECT":
		return false
	case "INSERT", "UPDATE", "DELETE":
		n, err := res.RowsAffected()
		return err != nil || n != 0
	}
	return true
}

// keyword is the word that a statement begins with.
func keyword(query string) string {
	query = strings.TrimLeft(query, " \t\n")
	end := strings.IndexAny(query, " \t\n")
	return query[:max(end, 0)]
}

// closeRows closes what the function forgot to. database/sql would otherwise
// never let go of the connection.
func (h *handle) closeRows() {
	if h.rows != nil {
		_ = h.rows.Close()
	}
	if h.row != nil {
		_ = h.row.Scan() // the only way to close a Row
	}
}

// failedContext is a context that has ended with a given error.
type failedContext struct {
	context.Context //nolint:containedctx // it is one
	err             error
}

func (f failedContext) Done() <-chan struct{} { return closedChannel }
func (f failedContext) Err() error            { return f.err }

var closedChannel = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// finish ends the function's use of the handle and returns what became of it.
func (h *handle) finish(ctx context.Context, err error) error {
	h.over = true
	switch {
	case err != nil:
		return err
	case h.err != nil:
		return fmt.Errorf("a statement failed and the function went on: %w", h.err)
	}
	return ctx.Err()
}

// protect calls fn and turns a panic into an error, so that a mistake in one
// function does not take the writer, and with it everyone, down.
func protect(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in transaction: %v\n%s", p, debug.Stack())
		}
	}()
	return fn()
}
