package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// The bounds of PostgreSQL's pools and of its retries.
const (
	pgReaders        = 16
	pgWriters        = 16
	pgConnectTimeout = 3 * time.Second
	pgCommitLimit    = 30 * time.Second
	pgSilence        = 15 * time.Second // without an answer to a statement
	pgIdle           = 5 * time.Minute
	pgTries          = 20
	pgFleetLane      = 4 // the try from which lanes are the fleet's
	pgMaxPause       = 100 * time.Millisecond
	pgLostTries      = 3 // with a connection that was lost
	pgIdleInTx       = "idle_in_transaction_session_timeout"
)

// postgresEngine writes in SERIALIZABLE transactions, so that what is right on
// SQLite, where functions run one by one, is right here. A function that loses
// against another is run again. From its second try it queues in a lane of this
// process, from a later one in a lane of the fleet (an advisory lock), so that
// many writers of one row take turns instead of defeating each other.
type postgresEngine struct {
	db     *DB
	lanes  lanes
	inside atomic.Int64 // calls of write that have not returned
	// open is held for reading by every write, and for writing to close.
	open   sync.RWMutex
	closed bool
}

func openPostgres(ctx context.Context, url string, opt Options) (*DB, error) {
	db := &DB{dialect: Postgres, opt: opt}
	var err error
	if db.writers, err = postgresPool(url, opt, false); err != nil {
		return nil, err
	}
	if db.readers, err = postgresPool(url, opt, true); err != nil {
		return nil, err
	}
	limit(db.writers, opt.MaxWriters, pgWriters)
	limit(db.readers, opt.MaxReaders, pgReaders)
	e := &postgresEngine{db: db}
	db.engine = e
	if err := e.ping(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open database: %w", err), db.Close())
	}
	return db, nil
}

func limit(pool *sql.DB, n, otherwise int) {
	if n <= 0 {
		n = otherwise
	}
	pool.SetMaxOpenConns(n)
	pool.SetMaxIdleConns(n)
	pool.SetConnMaxIdleTime(pgIdle)
}

func postgresPool(url string, opt Options, readOnly bool) (*sql.DB, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		// pgx masks the password in what it says.
		return nil, fmt.Errorf("open database: %w", err)
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = pgConnectTimeout
	}
	if opt.dial != nil {
		cfg.DialFunc = opt.dial
	}
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "castalia"
	}
	cfg.RuntimeParams["timezone"] = "UTC"
	if readOnly {
		cfg.RuntimeParams["default_transaction_read_only"] = "on"
	} else if cfg.RuntimeParams[pgIdleInTx] == "" {
		// A node that freezes inside a transaction must not keep its locks: others
		// wait for them to take over its leases.
		cfg.RuntimeParams[pgIdleInTx] = "5s"
	}
	return sql.OpenDB(postgresConnector{Connector: stdlib.GetConnector(*cfg), fault: opt.Fault, readOnly: readOnly}), nil
}

func (e *postgresEngine) write(ctx context.Context, fn writeFunc) error {
	e.open.RLock()
	defer e.open.RUnlock()
	if e.closed {
		return ErrClosed
	}
	e.inside.Add(1)
	defer e.inside.Add(-1)
	p := &pass{lanes: &e.lanes}
	for try := 1; ; try++ {
		err := e.attempt(ctx, fn, p, try)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil, !retryable(err) && (!lost(err) || try >= pgLostTries):
			return err
		case try == pgTries:
			return fault.Wrap(fault.Unavailable, "The database is too busy.",
				fmt.Errorf("gave up after %d tries: %w", try, err)).WithRetryAfter(time.Second)
		}
		e.db.counts.retries.Add(1)
		e.db.opt.Logger.DebugContext(ctx, "write runs again", slog.Int("try", try), slog.Any("error", err))
		if errors.Is(err, errLaneTaken) {
			continue // its lane is where it waits
		}
		if IsSerialization(err) && len(p.wanted) == 0 {
			p.want("conflict")
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
}

// pause waits a random time that grows with the tries.
func pause(ctx context.Context, try int) error {
	longest := min(pgMaxPause, time.Millisecond<<min(try, 10))
	t := time.NewTimer(rand.N(longest)) //nolint:gosec // spreads retries, guards nothing
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// attempt runs fn once, in the lanes that earlier tries asked for.
func (e *postgresEngine) attempt(ctx context.Context, fn writeFunc, p *pass, try int) error {
	if err := p.enter(ctx); err != nil {
		return err
	}
	defer p.leave()
	conn, err := e.db.writers.Conn(ctx)
	if err != nil {
		return fmt.Errorf("begin write: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if try >= pgFleetLane {
		release, err := fleetLanes(ctx, conn, p.held)
		if err != nil {
			return err
		}
		defer release()
	}
	return e.transact(ctx, conn, sql.LevelSerializable, p, fn)
}

// fleetLanes takes an advisory lock for each lane, before the transaction and
// with it its snapshot begins.
func fleetLanes(ctx context.Context, conn *sql.Conn, names []string) (release func(), err error) {
	release = func() { //nolint:contextcheck // the locks must go whatever became of the caller
		free, cancel := context.WithTimeout(context.Background(), pgConnectTimeout)
		defer cancel()
		if _, err := conn.ExecContext(free, "SELECT pg_advisory_unlock_all()"); err != nil {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // close it, and the locks with it
		}
	}
	for _, name := range names {
		h := fnv.New64a()
		_, _ = h.Write([]byte(name))
		if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", int64(h.Sum64())); err != nil { //nolint:gosec // any 64 bits will do
			release()
			return nil, fmt.Errorf("wait for lane %s: %w", name, err)
		}
	}
	return release, nil
}

// transact runs fn in one transaction and commits it.
func (e *postgresEngine) transact(ctx context.Context, conn *sql.Conn, level sql.IsolationLevel, p *pass, fn writeFunc) (err error) {
	// The transaction outlives the caller's context: whether a commit under way
	// succeeded must be known. Its beginning and the statements inside it do not.
	tx, err := conn.BeginTx(onBehalf(ctx), &sql.TxOptions{Isolation: level})
	if err != nil {
		return fmt.Errorf("begin write: %w", err)
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback()
		}
	}()
	h := &handle{q: tx, pass: p}
	if err := e.db.call(ctx, h, fn); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return &commitError{err}
	}
	e.db.counts.commits.Add(1)
	if e.db.opt.Fault != nil {
		if err := e.db.opt.Fault(StageCommitted); err != nil {
			return &commitError{err}
		}
	}
	return nil
}

// migrateLock is the advisory lock under which nodes that start together take
// turns: "castalia" in ASCII.
const migrateLock int64 = 0x63617374616c6961

// migrate runs fn alone in the fleet. It reads what others committed while it
// waited for its turn, hence READ COMMITTED.
func (e *postgresEngine) migrate(ctx context.Context, fn writeFunc) error {
	conn, err := e.db.writers.Conn(ctx)
	if err != nil {
		return fmt.Errorf("begin migration: %w", err)
	}
	defer func() { _ = conn.Close() }()
	return e.transact(ctx, conn, sql.LevelReadCommitted, nil, func(ctx context.Context, tx Querier) error {
		if _, err := tx.ExecContext(unhurried(ctx), "SELECT pg_advisory_xact_lock($1)", migrateLock); err != nil {
			return fmt.Errorf("wait for other nodes: %w", err)
		}
		return fn(ctx, tx)
	})
}

func (e *postgresEngine) ping(ctx context.Context) error {
	var one int
	return e.db.readers.QueryRowContext(ctx, "SELECT 1").Scan(&one)
}

func (e *postgresEngine) waiting() int {
	return max(0, int(e.inside.Load())-e.db.writers.Stats().InUse)
}

// close waits for the writes that were accepted.
func (e *postgresEngine) close() {
	e.open.Lock()
	defer e.open.Unlock()
	e.closed = true
}
