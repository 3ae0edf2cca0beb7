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
	h, _ := tx.(*handle)
	if h != nil && h.shared != nil {
		return h.shared.number(ctx, h, name, n)
	}
	return takeNumbers(ctx, tx, name, n)
}

func takeNumbers(ctx context.Context, tx Querier, name string, n int64) (last int64, err error) {
	err = tx.QueryRowContext(ctx, `
		INSERT INTO platform_feeds (name, last) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET last = platform_feeds.last + excluded.last
		RETURNING last`, name, n).Scan(&last)
	if err != nil {
		return 0, fmt.Errorf("take number from feed %s: %w", name, err)
	}
	return last, nil
}

// number takes numbers of a feed of which this transaction may have taken some: nobody else
// can have taken others since, so those are known, and the counter is moved once.
func (s *gatherer) number(ctx context.Context, h *handle, name string, n int64) (last int64, err error) {
	if err := h.check(ctx); err != nil {
		return 0, h.note(err)
	}
	last, known := s.feeds[name]
	if !known {
		h.wrote = true
		// Others may have gathered for feeds, but nobody for this one.
		if last, err = takeNumbers(ctx, &handle{q: h.q, detached: true}, name, n); err != nil {
			return 0, h.note(err)
		}
	} else {
		last += n
		if err = Gather(ctx, h, Gathered{
			Table: "platform_feeds", Row: name, Sum: []int64{n},
			Join: func(sum, more []int64) { sum[0] += more[0] },
			Write: func(ctx context.Context, tx Querier, sum []int64) error {
				_, err := takeNumbers(ctx, tx, name, sum[0])
				return err
			},
		}); err != nil {
			return 0, err
		}
	}
	if s.feeds == nil {
		s.feeds = map[string]int64{}
	}
	s.feeds[name] = last
	return last, nil
}
