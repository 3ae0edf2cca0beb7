package sqldb

import (
	"context"
	"errors"
	"fmt"
)

// Strings returns the one column of every row that a query selects.
func Strings(ctx context.Context, from Querier, query string, args ...any) (list []string, err error) {
	rows, err := from.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("select texts: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, fmt.Errorf("scan text: %w", err)
		}
		list = append(list, text)
	}
	return list, rows.Err()
}
