// Package feedsql reads how far the feeds of a database have come.
package feedsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/feed"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// visible is what a dialect says of all that a statement sees. PostgreSQL names the
// transactions that have ended: two statements for which they are the same see the same.
// SQLite, which is asked for nothing over a line, has no such name.
func visible(d sqldb.Dialect) string {
	if d == sqldb.Postgres {
		return "pg_current_snapshot()::text"
	}
	return "''"
}

// read looks at the feeds; those that have no number yet are not in what it returns.
func read(ctx context.Context, db *sqldb.DB, names []string) (seen feed.Seen, err error) {
	marks, args := make([]string, len(names)), make([]any, len(names))
	for i, name := range names {
		marks[i], args[i] = fmt.Sprintf("$%d", i+1), name
	}
	rows, err := db.Read().QueryContext(ctx, `SELECT v.visible, f.name, f.last FROM (SELECT `+visible(db.Dialect())+` AS visible) v
		LEFT JOIN platform_feeds f ON f.name IN (`+strings.Join(marks, ", ")+`)`, args...)
	if err != nil {
		return feed.Seen{}, fmt.Errorf("read heads of feeds: %w", err)
	}
	defer func() {
		if err = errors.Join(err, rows.Close()); err != nil {
			seen = feed.Seen{}
		}
	}()
	seen.Last = make(map[string]int64, len(names))
	for rows.Next() {
		var name sql.NullString
		var last sql.NullInt64
		if err := rows.Scan(&seen.Visible, &name, &last); err != nil {
			return seen, fmt.Errorf("read the head of a feed: %w", err)
		}
		if name.Valid {
			seen.Last[name.String] = last.Int64
		}
	}
	return seen, rows.Err()
}

// In returns what reads the heads of a database, for feed.Heads.
func In(db *sqldb.DB) func(ctx context.Context, names []string) (feed.Seen, error) {
	return func(ctx context.Context, names []string) (feed.Seen, error) { return read(ctx, db, names) }
}
