// Package feedsql reads how far the feeds of a database have come.
package feedsql

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// read returns the last number of each of the feeds; those that have none are not in it.
func read(ctx context.Context, db sqldb.Querier, names []string) (heads map[string]int64, err error) {
	marks, args := make([]string, len(names)), make([]any, len(names))
	for i, name := range names {
		marks[i], args[i] = fmt.Sprintf("$%d", i+1), name
	}
	rows, err := db.QueryContext(ctx,
		`SELECT name, last FROM platform_feeds WHERE name IN (`+strings.Join(marks, ", ")+`)`, args...)
	if err != nil {
		return nil, fmt.Errorf("read heads of feeds: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	heads = make(map[string]int64, len(names))
	for rows.Next() {
		var name string
		var last int64
		if err := rows.Scan(&name, &last); err != nil {
			return nil, fmt.Errorf("read the head of a feed: %w", err)
		}
		heads[name] = last
	}
	return heads, rows.Err()
}

// In returns what reads the heads of a database, for feed.Heads.
func In(db *sqldb.DB) func(ctx context.Context, names []string) (map[string]int64, error) {
	return func(ctx context.Context, names []string) (map[string]int64, error) {
		return read(ctx, db.Read(), names)
	}
}
