package sqldb

import (
	"context"
	"errors"
	"fmt"
)

// WriteOne is Write for a single statement, which is a transaction of its own,
// and returns how many rows it changed. On SQLite it joins the group commit like
// any other. On PostgreSQL it costs one round trip instead of three and runs at
// READ COMMITTED, so the statement must be right alone, whatever others do: an
// insert, or an update that compares what it is about to change. Nothing is
// tried again once the server may have seen it.
func (db *DB) WriteOne(ctx context.Context, query string, args ...any) (changed int64, err error) {
	if db.dialect == SQLite {
		err = db.Write(ctx, func(ctx context.Context, tx Querier) error {
			res, err := tx.ExecContext(ctx, query, args...)
			if err != nil {
				return err
			}
			changed, err = res.RowsAffected()
			return err
		})
		return changed, err
	}
	if ctx.Value(writingKey{}) == any(db) {
		return 0, errors.New("write inside a write: hand the transaction down instead")
	}
	db.counts.writes.Add(1)
	res, err := db.writers.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, fmt.Errorf("write: %w", err)
	}
	db.counts.commits.Add(1)
	return res.RowsAffected()
}
