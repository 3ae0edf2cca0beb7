package oraclesql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

// countMessage counts a message in the transaction that stores it, or refuses
// it: nothing is counted that was not taken, and nothing taken that was not counted.
func countMessage(ctx context.Context, tx sqldb.Querier, sponsor string, m oracle.Measure, now time.Time) error {
	if !m.Limited() {
		return nil
	}
	var messages, micros int64
	err := tx.QueryRowContext(ctx, `INSERT INTO oracle_usage (sponsor, day, messages, cost_micros) VALUES ($1, $2, 1, 0)
		ON CONFLICT (sponsor, day) DO UPDATE SET messages = oracle_usage.messages + 1 RETURNING messages, cost_micros`,
		sponsor, oracle.DayOf(now)).Scan(&messages, &micros)
	if err != nil {
		return fmt.Errorf("count message: %w", err)
	}
	return m.Exceeded(messages, micros, now)
}

// AddCost counts what the model cost for a sponsor.
func (st *Store) AddCost(ctx context.Context, sponsor string, micros int64, now time.Time) error {
	_, err := st.db.WriteOne(ctx, `INSERT INTO oracle_usage (sponsor, day, messages, cost_micros) VALUES ($1, $2, 0, $3)
		ON CONFLICT (sponsor, day) DO UPDATE SET cost_micros = oracle_usage.cost_micros + excluded.cost_micros`,
		sponsor, oracle.DayOf(now), micros)
	if err != nil {
		return fmt.Errorf("count cost: %w", err)
	}
	return nil
}

// ReserveCost implements turn.Ledger. Whoever wants the same day waits for the row.
func (st *Store) ReserveCost(ctx context.Context, sponsor string, limit, want int64,
	now time.Time,
) (held, spent int64, err error) {
	if want <= 0 {
		spent, err = st.Cost(ctx, sponsor, now)
		return 0, spent, err
	}
	err = st.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		err := tx.QueryRowContext(ctx, `INSERT INTO oracle_usage (sponsor, day, messages, cost_micros) VALUES ($1, $2, 0, 0)
			ON CONFLICT (sponsor, day) DO UPDATE SET messages = oracle_usage.messages RETURNING cost_micros`,
			sponsor, oracle.DayOf(now)).Scan(&spent)
		if err != nil {
			return fmt.Errorf("read cost: %w", err)
		}
		if held = max(min(want, limit-spent), 0); held == 0 {
			return nil
		}
		_, err = tx.ExecContext(ctx, `UPDATE oracle_usage SET cost_micros = cost_micros + $1
			WHERE sponsor = $2 AND day = $3`, held, sponsor, oracle.DayOf(now))
		if err != nil {
			return fmt.Errorf("hold cost: %w", err)
		}
		return nil
	})
	return held, spent, err
}

// Cost returns what the model cost for a sponsor on the day.
func (st *Store) Cost(ctx context.Context, sponsor string, now time.Time) (micros int64, err error) {
	_, micros, err = st.Used(ctx, sponsor, now)
	return micros, err
}

// Used returns what was counted of a sponsor's measure on the day.
func (st *Store) Used(ctx context.Context, sponsor string, now time.Time) (messages, micros int64, err error) {
	err = st.db.Read().QueryRowContext(ctx, `SELECT messages, cost_micros FROM oracle_usage WHERE sponsor = $1 AND day = $2`,
		sponsor, oracle.DayOf(now)).Scan(&messages, &micros)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, 0, fmt.Errorf("read what was used: %w", err)
	}
	return messages, micros, nil
}

// usageDays is how long counts are kept.
const usageDays = 40
