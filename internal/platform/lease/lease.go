// Package lease lets one node at a time do a piece of work, and keeps a node
// that has lost the work, without noticing, from writing.
//
// A lease has a holder, a time at which it ends by the database's clock, and an
// epoch, which is larger each time the lease changes hands. Time alone is not
// safe: a holder that is paused (by the garbage collector, a suspended machine,
// a slow disk) wakes up after its lease has ended and goes on. So every write
// under a lease calls Guard in its transaction, or compares the epoch itself
// (AND epoch = $n). Guard fails once the epoch has moved on, and it holds off
// whoever wants to take over until the transaction ends: the next holder sees
// all that the last one wrote.
//
// The package promises no fairness and does not tell holders apart by name: a
// name is one process's, made new at each start.
//
// Decision: ADR 0013.
package lease

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// ErrLost says that the lease has a later epoch: somebody else took over.
var ErrLost error = fault.New(fault.Conflict, "The work has moved to another node.")

// Lease is a right to do some work until Expires.
type Lease struct {
	Name    string
	Holder  string
	Epoch   int64
	Expires time.Time

	ttl time.Duration
	// lock is the engine's suffix of a SELECT that keeps the row as it is.
	lock string
	// until is Expires on this process's monotonic clock, taken before the
	// database was asked and therefore never too late.
	until time.Time
}

// Guard fails with ErrLost when the lease has moved on. Call it inside
// sqldb.Write, before or after the writes that it protects.
func (l Lease) Guard(ctx context.Context, tx sqldb.Querier) error {
	var one int
	err := tx.QueryRowContext(ctx,
		`SELECT 1 FROM platform_leases WHERE name = $1 AND epoch = $2`+l.lock, l.Name, l.Epoch).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("guard lease %s: %w", l.Name, ErrLost)
	}
	if err != nil {
		return fmt.Errorf("guard lease %s: %w", l.Name, err)
	}
	return nil
}

// Keeper takes and keeps leases for one holder. It is safe for concurrent use.
type Keeper struct {
	db     *sqldb.DB
	holder string
}

// NewKeeper returns a keeper for a holder, whose name should be new at each
// start of the process. The database needs its platform tables, which any
// Migrate makes.
func NewKeeper(db *sqldb.DB, holder string) *Keeper { return &Keeper{db: db, holder: holder} }

// Acquire takes the lease when it is free or has ended. The result is false
// when it is held, even by this keeper.
func (k *Keeper) Acquire(ctx context.Context, name string, ttl time.Duration) (Lease, bool, error) {
	l := Lease{Name: name, Holder: k.holder, ttl: ttl, lock: k.db.Dialect().ForShare()}
	held := false
	err := k.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		l.until = time.Now().Add(ttl)
		now, err := k.db.NowIn(ctx, tx)
		if err != nil {
			return err
		}
		l.Expires = now.Add(ttl)
		// The epoch is the time at which the lease was taken, or one more than the
		// last: it grows even after Sweep has forgotten the row.
		err = tx.QueryRowContext(ctx, `
			INSERT INTO platform_leases (name, holder, epoch, expires_ms) VALUES ($1, $2, $3, $4)
			ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_ms = excluded.expires_ms,
				epoch = CASE WHEN platform_leases.epoch < excluded.epoch THEN excluded.epoch ELSE platform_leases.epoch + 1 END
				WHERE platform_leases.expires_ms <= $3
			RETURNING epoch`, name, k.holder, sqldb.MS(now), sqldb.MS(l.Expires)).Scan(&l.Epoch)
		held = errors.Is(err, sql.ErrNoRows)
		if held {
			return nil
		}
		return err
	})
	if err != nil {
		return Lease{}, false, fmt.Errorf("acquire lease %s: %w", name, err)
	}
	if held {
		return Lease{}, false, nil
	}
	return l, true, nil
}

// Renew makes the lease last for its full time again, from now. It fails with
// ErrLost when somebody else took over; a lease that ended but that nobody took
// is renewed.
func (k *Keeper) Renew(ctx context.Context, l Lease) (Lease, error) {
	err := k.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		l.until = time.Now().Add(l.ttl)
		now, err := k.db.NowIn(ctx, tx)
		if err != nil {
			return err
		}
		l.Expires = now.Add(l.ttl)
		return k.set(ctx, tx, l, sqldb.MS(l.Expires))
	})
	if err != nil {
		return Lease{}, fmt.Errorf("renew lease %s: %w", l.Name, err)
	}
	return l, nil
}

// Release lets the next holder start at once. To release a lost lease is fine
// and does nothing.
func (k *Keeper) Release(ctx context.Context, l Lease) error {
	err := k.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		return k.set(ctx, tx, l, 0)
	})
	if err != nil && !errors.Is(err, ErrLost) {
		return fmt.Errorf("release lease %s: %w", l.Name, err)
	}
	return nil
}

func (k *Keeper) set(ctx context.Context, tx sqldb.Querier, l Lease, expires int64) error {
	res, err := tx.ExecContext(ctx, `UPDATE platform_leases SET expires_ms = $1 WHERE name = $2 AND epoch = $3`,
		expires, l.Name, l.Epoch)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n != 0 {
		return err
	}
	return ErrLost
}

// Orphans ends the leases that an earlier process left behind. On SQLite, which
// belongs to one process at a time, those of every other holder are; call it at
// the start, and work that a crash interrupted goes on at once. On PostgreSQL it
// does nothing: the other holders are alive, for all one knows.
func (k *Keeper) Orphans(ctx context.Context) error {
	if k.db.Dialect() != sqldb.SQLite {
		return nil
	}
	err := k.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		_, err := tx.ExecContext(ctx, `UPDATE platform_leases SET expires_ms = 0 WHERE holder <> $1 AND expires_ms <> 0`, k.holder)
		return err
	})
	if err != nil {
		return fmt.Errorf("end orphaned leases: %w", err)
	}
	return nil
}

// Sweep forgets leases that ended longer than age ago, slice by slice until none is
// left, and returns how many. Work with a name of its own, such as one run, leaves a row
// behind; age must be longer than any process can be paused.
func (k *Keeper) Sweep(ctx context.Context, age time.Duration) (total int64, err error) {
	for {
		n, err := k.sweepSlice(ctx, age)
		if total += n; err != nil || n < sweepSlice {
			return total, err
		}
	}
}

const sweepSlice = 1000

func (k *Keeper) sweepSlice(ctx context.Context, age time.Duration) (n int64, err error) {
	err = k.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		now, err := k.db.NowIn(ctx, tx)
		if err != nil {
			return err
		}
		// A released lease has expires_ms 0; its epoch is about when it was taken. Those with
		// an old epoch that are still held are few.
		res, err := tx.ExecContext(ctx, `DELETE FROM platform_leases WHERE name IN (
			SELECT name FROM platform_leases WHERE epoch < $1 AND expires_ms < $1 ORDER BY epoch LIMIT $2)`, sqldb.MS(now.Add(-age)), sweepSlice)
		if err != nil {
			return err
		}
		n, err = res.RowsAffected()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("sweep leases: %w", err)
	}
	return n, nil
}

// pause waits about d, a little less or more so that nodes do not march in step.
func pause(ctx context.Context, d time.Duration) error {
	d = max(d, time.Millisecond)
	t := time.NewTimer(d - d/8 + rand.N(d/4+1)) //nolint:gosec // spreads nodes, guards nothing
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
