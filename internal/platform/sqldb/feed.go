package sqldb

import (
	"context"
	"errors"
	"fmt"

	"github.com/castalia-org/castalia/internal/platform/sqldb/pgline"
)

// errLaneTaken makes a write function run again, in its turn.
var errLaneTaken = errors.New("somebody else writes to this feed now")

// NextFeed returns the next number, from 1, of the named feed. Call it inside
// Write and store the number with the change it belongs to.
//
// The number comes from a counter row that stays locked until the transaction
// ends, so numbers become visible in their order: whoever has read up to n has
// seen every change below it. A sequence would let a reader pass a number whose
// transaction commits late. The price is that writers of one feed take turns;
// use one feed for each namespace or kind.
func NextFeed(ctx context.Context, tx Querier, name string) (int64, error) {
	return NextFeedN(ctx, tx, name, 1)
}

// InFeedTurn has the writes of a context wait, before they begin, until no other such write of
// the fleet takes numbers of a feed: for those that are long, and dear to run again.
func InFeedTurn(ctx context.Context, name string) context.Context {
	return pgline.InTurn(ctx, "feed "+name)
}

// NextFeedN reserves n numbers and returns the last of them.
func NextFeedN(ctx context.Context, tx Querier, name string, n int64) (int64, error) {
	if h, ok := tx.(*handle); ok && h.pass != nil && !h.pass.Claim("feed "+name) {
		return 0, h.note(fmt.Errorf("take number from feed %s: %w", name, errLaneTaken))
	}
	var last int64
	err := tx.QueryRowContext(ctx, `
		INSERT INTO platform_feeds (name, last) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET last = platform_feeds.last + excluded.last
		RETURNING last`, name, n).Scan(&last)
	if err != nil {
		return 0, fmt.Errorf("take number from feed %s: %w", name, err)
	}
	return last, nil
}
