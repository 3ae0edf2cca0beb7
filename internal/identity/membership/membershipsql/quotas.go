package membershipsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

const (
	// QuotaFeed numbers changes of quotas.
	QuotaFeed    = "membership_quotas"
	quotaColumns = `did, bytes, messages, cost_micros, set_by, set_ms, feed`
	// usual is stored for what everybody may have.
	usual = -1
)

func stored(n *int64) int64 {
	if n == nil {
		return usual
	}
	return *n
}

func limitOf(n int64) *int64 {
	if n == usual {
		return nil
	}
	return &n
}

// SetQuota implements membership.Store. A row stays when its quota ends: the feed tells of it.
func (s *Store) SetQuota(ctx context.Context, q membership.Quota) error {
	return s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		feed, err := sqldb.NextFeed(ctx, tx, QuotaFeed)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO membership_quotas (`+quotaColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (did) DO UPDATE SET bytes = excluded.bytes, messages = excluded.messages,
			cost_micros = excluded.cost_micros, set_by = excluded.set_by, set_ms = excluded.set_ms, feed = excluded.feed`,
			q.DID, stored(q.Bytes), stored(q.Messages), stored(q.CostMicros), q.By, sqldb.MS(q.At), feed)
		if err != nil {
			return fmt.Errorf("insert quota: %w", err)
		}
		return nil
	})
}

func scanQuota(row interface{ Scan(into ...any) error }) (q membership.Quota, err error) {
	var bytes, messages, micros, at int64
	err = row.Scan(&q.DID, &bytes, &messages, &micros, &q.By, &at, &q.Feed)
	q.Bytes, q.Messages, q.CostMicros, q.At = limitOf(bytes), limitOf(messages), limitOf(micros), sqldb.Time(at)
	return q, err
}

// Quota implements membership.Store.
func (s *Store) Quota(ctx context.Context, did string) (*membership.Quota, error) {
	q, err := scanQuota(s.db.Read().QueryRowContext(ctx, `SELECT `+quotaColumns+` FROM membership_quotas WHERE did = $1`, did))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // nothing was set
	}
	if err != nil {
		return nil, fmt.Errorf("look for quota: %w", err)
	}
	return &q, nil
}

// QuotaChanges implements membership.Store.
func (s *Store) QuotaChanges(ctx context.Context, after int64, limit int) ([]membership.Quota, error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT `+quotaColumns+` FROM membership_quotas WHERE feed > $1 ORDER BY feed LIMIT $2`, after, limit)
	return collect(rows, err, func(rows *sql.Rows) (membership.Quota, error) { return scanQuota(rows) })
}
