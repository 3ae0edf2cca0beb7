package coldstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

const (
	// retryAfter is how long one that cannot be opened is left alone by those who bring back
	// what is due. Whoever opens it tries at once.
	retryAfter = 24 * time.Hour
	// awayAfter is the same for one that could not be read for now: the next pass begins with
	// others, since what the archive refuses for good looks the same.
	awayAfter = 90 * time.Minute
	// mostAway is how many may fail for now in a row, before the archive is taken for away.
	mostAway = 20
	// mostShown bounds the failures that an error names.
	mostShown = 10
)

// errUnreadable says that an object is as it was stored, and not of this program's kind.
var errUnreadable = errors.New("the archived conversation is of a kind that this program cannot read")

// due lists conversations that must be in the tables, in an order that bringing them back
// does not change. Those that could not be opened lately are not among them.
type due struct {
	text string
	args func(now int64, after place) []any
}

func dueLists(runsBefore time.Time) []due {
	lists := []due{{
		text: `SELECT 0, s.id FROM oracle_sessions s WHERE s.cold = 1 AND s.unread = 1 AND s.id > $1
			AND NOT EXISTS (SELECT 1 FROM oracle_cold c WHERE c.session_id = s.id AND c.dead_ms = 0 AND c.retry_ms > $2) ORDER BY s.id LIMIT $3`,
		args: func(now int64, after place) []any { return []any{after.session, now, page} },
	}}
	if !runsBefore.IsZero() {
		lists = append(lists, due{
			text: `SELECT oldest_run_ms, session_id FROM oracle_cold WHERE dead_ms = 0 AND oldest_run_ms > 0 AND oldest_run_ms < $1
				AND (oldest_run_ms, session_id) > ($2, $3) AND retry_ms <= $4 ORDER BY oldest_run_ms, session_id LIMIT $5`,
			args: func(now int64, after place) []any {
				return []any{sqldb.MS(runsBefore), after.at, after.session, now, page}
			},
		})
	}
	return lists
}

// next is a page behind a place.
func (d due) next(ctx context.Context, db *sqldb.DB, now int64, after place) (list []place, err error) {
	rows, err := db.Read().QueryContext(ctx, d.text, d.args(now, after)...)
	if err != nil {
		return nil, fmt.Errorf("find what must come back: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var one place
		if err := rows.Scan(&one.at, &one.session); err != nil {
			return nil, fmt.Errorf("read what must come back: %w", err)
		}
		list = append(list, one)
	}
	return list, rows.Err()
}

// bringDue brings back what must be in the tables. What cannot be opened holds up nothing
// behind it, and is tried again after retryAfter; it ends early where the archive is away.
func (s *Store) bringDue(ctx context.Context, runsBefore time.Time) error {
	now, err := s.DB.Now(ctx)
	if err != nil {
		return err
	}
	var f failures
	for _, list := range dueLists(runsBefore) {
		for at, more := (place{}), true; more; {
			some, err := list.next(ctx, s.DB, sqldb.MS(now), at)
			if err != nil {
				return err
			}
			for _, at = range some {
				if err := s.bringOne(ctx, at.session, now, &f); err != nil {
					return err
				}
				if f.inARow == mostAway {
					return f.joined()
				}
			}
			more = len(some) == page
		}
	}
	return f.joined()
}

// bringOne brings back one that is due, or notes why it cannot. It fails when none can be.
func (s *Store) bringOne(ctx context.Context, session string, now time.Time, f *failures) error {
	err := s.bringBack(ctx, session, false)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
		f.inARow = 0
	case errors.Is(err, oracle.ErrLost) || errors.Is(err, errUnreadable):
		f.add(err)
		f.inARow = 0 // the archive answers
		if err := s.putOff(ctx, session, now.Add(retryAfter)); err != nil {
			return err
		}
	default:
		f.add(err)
		f.inARow++
		if err := s.putOff(ctx, session, now.Add(awayAfter)); err != nil {
			return err
		}
	}
	return pace.Sleep(ctx, between)
}

// putOff notes that a conversation is not to be tried before a time.
func (s *Store) putOff(ctx context.Context, session string, until time.Time) error {
	_, err := s.DB.WriteOne(ctx, `UPDATE oracle_cold SET retry_ms = $1 WHERE session_id = $2 AND dead_ms = 0`, sqldb.MS(until), session)
	if err != nil {
		return fmt.Errorf("put off an archived conversation: %w", err)
	}
	return nil
}

// failures are what went wrong with some of many.
type failures struct {
	first []error
	all   int
	// inARow is how many failed for now, one after another.
	inARow int
}

func (f *failures) add(err error) {
	if f.all++; len(f.first) < mostShown {
		f.first = append(f.first, err)
	}
}

func (f *failures) joined() error {
	if more := f.all - len(f.first); more > 0 {
		return errors.Join(append(f.first, fmt.Errorf("and %d more", more))...)
	}
	return errors.Join(f.first...)
}
