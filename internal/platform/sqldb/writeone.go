package sqldb

import (
	"context"
	"fmt"
)

// WriteOne is Write for a single statement, which is a transaction of its own,
// and returns how many rows it changed. On SQLite it joins the group commit like
// any other, and costs one statement there where a function costs three. On
// PostgreSQL it costs one round trip instead of three and runs at READ
// COMMITTED, so the statement must be right alone, whatever others do: an insert,
// or an update that compares what it is about to change. Nothing is tried again
// once the server may have seen it. When ctx ends after the statement has begun,
// its outcome is awaited and told.
func (db *DB) WriteOne(ctx context.Context, query string, args ...any) (changed int64, err error) {
	if err := db.admit(ctx); err != nil {
		return 0, err
	}
	return db.engine.writeOne(ctx, query, args)
}

func (w *groupWriter) writeOne(ctx context.Context, query string, args []any) (changed int64, err error) {
	err = w.submit(&job{ctx: ctx, alone: true, done: make(chan error, 1), fn: func(ctx context.Context, tx Querier) error {
		res, err := tx.ExecContext(ctx, query, args...)
		if err != nil {
			return err
		}
		changed, err = res.RowsAffected()
		return err
	}})
	return changed, err
}

func (e *postgresEngine) writeOne(ctx context.Context, query string, args []any) (int64, error) {
	res, err := e.db.writers.ExecContext(awaited(ctx), query, args...)
	if err != nil {
		return 0, fmt.Errorf("write: %w", err)
	}
	e.db.counts.commits.Add(1)
	return res.RowsAffected()
}
