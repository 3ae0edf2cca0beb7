package ussdsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
)

// A check has a row at each of its counters from its beginning to its end. Rows
// whose time is over are removed by the next check that looks, and only a row
// that is there can be settled: so failures and rows together never exceed the
// guesses, whatever clocks do, and whoever lost its row answers nothing.

// beginCheck takes the places of a check, or finds a lock. A full counter is
// ErrPINBusy.
func (s *Store) beginCheck(ctx context.Context, tx sqldb.Querier, c ussd.Claim) (ussdpin.Attempt, error) {
	a := ussdpin.Attempt{Check: ussdpin.Check{Token: c.Token, Counters: c.Counters}}
	if len(c.Counters) == 0 {
		return a, nil
	}
	full := false
	for _, counter := range c.Counters {
		r, err := s.record(ctx, tx, counter, c.ID)
		if err != nil {
			return a, err
		}
		if r.Locked(c.Now) {
			a.Refused, a.Until = true, later(a.Until, r.Until)
		}
		full = full || r.Full()
		a.Check.Failures = append(a.Check.Failures, r.Failures)
	}
	switch {
	case a.Refused:
		return a, nil
	case full:
		return a, ussd.ErrPINBusy
	}
	for _, counter := range c.Counters {
		if _, err := tx.ExecContext(ctx, `INSERT INTO ussd_pin_checks (subject, origin, session, token, lapses_ms)
			VALUES ($1, $2, $3, $4, `+s.db.Dialect().NowMS()+` + $5)`,
			counter.Subject, counter.Origin, c.ID, c.Token, c.CheckFor.Milliseconds()); err != nil {
			return a, fmt.Errorf("begin PIN check: %w", err)
		}
	}
	return a, nil
}

// record reads a counter after removing what has lapsed, and what an earlier
// check of the session left: one that this node or another gave up.
func (s *Store) record(ctx context.Context, tx sqldb.Querier, c ussdpin.Counter,
	session string,
) (ussdpin.Record, error) {
	r, err := s.failures(ctx, tx, c)
	if err != nil {
		return r, err
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM ussd_pin_checks WHERE subject = $1 AND origin = $2 AND (session = $3 OR lapses_ms <= `+
		s.db.Dialect().NowMS()+`)`, c.Subject, c.Origin, session); err != nil {
		return r, fmt.Errorf("remove lapsed PIN checks: %w", err)
	}
	err = tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM ussd_pin_checks WHERE subject = $1 AND origin = $2`, c.Subject, c.Origin).Scan(&r.Open)
	return r, wrap("count PIN checks", err)
}

// failures reads and locks the row of a counter.
func (s *Store) failures(ctx context.Context, tx sqldb.Querier, c ussdpin.Counter) (r ussdpin.Record, err error) {
	var until int64
	err = tx.QueryRowContext(ctx, `SELECT failures, locked_until_ms FROM ussd_attempts WHERE subject = $1 AND origin = $2`+
		s.db.Dialect().ForUpdate(), c.Subject, c.Origin).Scan(&r.Failures, &until)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return r, fmt.Errorf("read attempts: %w", err)
	}
	if until > 0 {
		r.Until = sqldb.Time(until)
	}
	return r, nil
}

// settle ends a check together with the hop that answers it.
func (s *Store) settle(ctx context.Context, tx sqldb.Querier, e ussd.SettlePIN, session string, now time.Time) error {
	for i, c := range e.Check.Counters {
		r, err := s.failures(ctx, tx, c)
		if err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `DELETE FROM ussd_pin_checks WHERE subject = $1 AND origin = $2 AND session = $3 AND token = $4`,
			c.Subject, c.Origin, session, e.Check.Token)
		if err := changedOne(res, err, ussd.ErrStale); err != nil {
			return err
		}
		switch {
		case r.Locked(now):
			// Nobody who has a place finds a lock, but beside nodes of the release
			// that counted without places.
			return ussd.ErrStale
		case e.Right:
			err = takeBack(ctx, tx, c)
		case r.Failures != e.Check.Failures[i]:
			return ussd.ErrRecount
		default:
			err = addFailure(ctx, tx, c, r.Wrong(now), now)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addFailure stores a wrong PIN, and the lock that it may have caused.
func addFailure(ctx context.Context, tx sqldb.Querier, c ussdpin.Counter, r ussdpin.Record, now time.Time) error {
	until := int64(0)
	if r.Locked(now) {
		until = sqldb.MS(r.Until)
	}
	const count = `INSERT INTO ussd_attempts (subject, origin, failures, locked_until_ms, updated_ms)
		VALUES ($1, $2, 1, $3, $4) ON CONFLICT (subject, origin) DO UPDATE SET
		failures = ussd_attempts.failures + 1, locked_until_ms = excluded.locked_until_ms, updated_ms = excluded.updated_ms`
	if _, err := tx.ExecContext(ctx, count, c.Subject, c.Origin, until, sqldb.MS(now)); err != nil {
		return fmt.Errorf("count wrong PIN: %w", err)
	}
	switch {
	case c.Origin == ussdpin.OriginCaller && until > 0:
		// A lock has paid for what was counted up to it. If that could be taken
		// back later, it would make room for guesses after the lock.
		_, err := tx.ExecContext(ctx, `DELETE FROM ussd_attempts WHERE subject = $1 AND origin <> $2`, c.Subject, c.Origin)
		return wrap("close the period of a telephone", err)
	case c.Against != "":
		// A row that never locks, only to be taken back: its origin is the account.
		_, err := tx.ExecContext(ctx, count, c.Subject, c.Against, 0, sqldb.MS(now))
		return wrap("count wrong PIN", err)
	}
	return nil
}

// takeBack forgets the failures of a counter.
func takeBack(ctx context.Context, tx sqldb.Querier, c ussdpin.Counter) error {
	if c.Against == "" {
		_, err := tx.ExecContext(ctx, `DELETE FROM ussd_attempts WHERE subject = $1 AND origin = $2`, c.Subject, c.Origin)
		return wrap("clear attempts", err)
	}
	// The row that is written first when attempts are counted goes first here, too.
	_, err := tx.ExecContext(ctx, `UPDATE ussd_attempts SET locked_until_ms = 0, failures = failures - COALESCE((
		SELECT a.failures FROM ussd_attempts a WHERE a.subject = $1 AND a.origin = $3), 0)
		WHERE subject = $1 AND origin = $2`, c.Subject, c.Origin, c.Against)
	if err != nil {
		return fmt.Errorf("take attempts back: %w", err)
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM ussd_attempts WHERE subject = $1 AND (origin = $3 OR origin = $2 AND failures <= 0)`,
		c.Subject, c.Origin, c.Against)
	return wrap("take attempts back", err)
}

// Recount implements ussd.Store. It goes where the counting goes: a reader would
// see what was before the group of writes that is about to be committed, and who
// was told to count again would be told so until it is.
func (s *Store) Recount(ctx context.Context, counters []ussdpin.Counter) ([]int, error) {
	out := make([]int, len(counters))
	err := s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		for i, c := range counters {
			r, err := s.failures(ctx, tx, c)
			if err != nil {
				return err
			}
			out[i] = r.Failures
		}
		return nil
	})
	return out, err
}
