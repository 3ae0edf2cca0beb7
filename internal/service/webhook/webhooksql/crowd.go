package webhooksql

import (
	"context"
	"fmt"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// PruneCrowds forgets the oldest deliveries of endpoints that have more than so many, with the events
// that nobody else is told: one move of a large folder makes thousands, and is quickly repeated.
// It forgets at most limit deliveries of each endpoint, and reports whether there are more.
func (s *Store) PruneCrowds(ctx context.Context, most, limit int) (more bool, err error) {
	crowded, err := sqldb.Strings(ctx, s.db.Read(), `SELECT endpoint FROM webhook_deliveries GROUP BY endpoint HAVING COUNT(*) > $1`, most)
	if err != nil {
		return false, fmt.Errorf("look for crowds of deliveries: %w", err)
	}
	for _, endpoint := range crowded {
		n, err := s.pruneCrowd(ctx, endpoint, most, limit)
		if err != nil {
			return false, fmt.Errorf("prune a crowd of deliveries: %w", err)
		}
		more = more || n == limit
	}
	return more, nil
}

func (s *Store) pruneCrowd(ctx context.Context, endpoint string, most, limit int) (n int, err error) {
	err = s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		// The newest stay. What came in the same moment as the last of them is as old as it.
		old, err := sqldb.Strings(ctx, tx, `SELECT event FROM webhook_deliveries WHERE endpoint = $1 AND created_ms <
			(SELECT created_ms FROM webhook_deliveries WHERE endpoint = $1 ORDER BY created_ms DESC, event DESC LIMIT 1 OFFSET $2)
			ORDER BY created_ms, event LIMIT $3`, endpoint, most-1, limit)
		if n = len(old); err != nil || n == 0 {
			return err
		}
		args := []any{endpoint}
		places := make([]string, n)
		for i, event := range old {
			args = append(args, event)
			places[i] = fmt.Sprintf("$%d", i+2)
		}
		in := " IN (" + strings.Join(places, ", ") + ")"
		if _, err := tx.ExecContext(ctx, `DELETE FROM webhook_deliveries WHERE endpoint = $1 AND event`+in, args...); err != nil {
			return err
		}
		// An event has one owner, all of whose endpoints may still be told.
		_, err = tx.ExecContext(ctx, `DELETE FROM webhook_events WHERE id`+in+` AND NOT EXISTS (SELECT 1 FROM webhook_endpoints o
			JOIN webhook_endpoints e ON e.owner = o.owner JOIN webhook_deliveries d ON d.endpoint = e.id AND d.event = webhook_events.id
			WHERE o.id = $1)`, args...)
		return err
	})
	return n, err
}
