package sqldb

import (
	"context"
	"fmt"
)

// Optimize does the small upkeep that a database wants now and then; call it about
// once an hour. SQLite gathers what its planner should know of tables that have
// grown, from a sample, in a few milliseconds. PostgreSQL looks after itself.
func (db *DB) Optimize(ctx context.Context) error {
	if db.dialect != SQLite {
		return nil
	}
	for _, pragma := range []string{"PRAGMA analysis_limit = 400", "PRAGMA optimize = 0x10002"} {
		err := db.Write(ctx, func(ctx context.Context, tx Querier) error {
			_, err := tx.ExecContext(ctx, pragma)
			return err
		})
		if err != nil {
			return fmt.Errorf("optimize database: %w", err)
		}
	}
	return nil
}
