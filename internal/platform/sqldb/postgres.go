package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb/pgline"
)

// The bounds of PostgreSQL's pools and of its retries.
const (
	pgReaders        = 16
	pgWriters        = 16
	pgConnectTimeout = 3 * time.Second
	pgCommitLimit    = 30 * time.Second
	pgSilence        = 15 * time.Second // without an answer to a statement
	pgTries          = 20
	pgFleetLane      = 4 // the try from which lanes are the fleet's
	pgLostTries      = 3 // with a connection that was lost
	pgIdleInTx       = "idle_in_transaction_session_timeout"
)

// postgresEngine writes in SERIALIZABLE transactions, so that what is right on
// SQLite, where functions run one by one, is right here. A function that loses
// against another is run again. From its second try it queues in a lane of this
// process, from a later one in a lane of the fleet (an advisory lock), so that
// many writers of one row, or of one small table, take turns instead of defeating
// each other; one that still loses, against those that are new, has them wait.
type postgresEngine struct {
	db               *DB
	writers, readers *pgline.Pool

	lanes  pgline.Lanes
	inside atomic.Int64 // calls of write that have not returned
	// open is held for reading by every write, and for writing to close.
	open   sync.RWMutex
	closed bool
}

func openPostgres(ctx context.Context, url string, opt Options) (*DB, error) {
	db := &DB{dialect: Postgres, opt: opt}
	err := pgline.WantsWritable(url)
	if err != nil {
		return nil, err
	}
	servers := pgline.NewHosts(opt.dial)
	e := &postgresEngine{db: db}
	if e.writers, err = postgresPool(url, opt, servers, false); err != nil {
		return nil, err
	}
	if e.readers, err = postgresPool(url, opt, servers, true); err != nil {
		return nil, err
	}
	e.writers.Other, e.readers.Other = e.readers, e.writers
	db.engine, db.writers, db.readers = e, e.writers.DB, e.readers.DB
	e.writers.Limit(cmp.Or(max(0, opt.MaxWriters), pgWriters))
	e.readers.Limit(cmp.Or(max(0, opt.MaxReaders), pgReaders))
	if err = e.ping(ctx); err == nil {
		err = db.writers.PingContext(ctx) // a second connection: a pooler would be noticed
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database: %w", err), db.Close())
	}
	return db, nil
}

func postgresPool(url string, opt Options, servers *pgline.Hosts, readOnly bool) (*pgline.Pool, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		// pgx masks the password in what it says.
		return nil, fmt.Errorf("open database: %w", err)
	}
	cfg.ConnectTimeout = cmp.Or(cfg.ConnectTimeout, pgConnectTimeout)
	cfg.DialFunc = servers.Dial
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "castalia"
	}
	cfg.RuntimeParams["timezone"] = "UTC"
	// What a session is set to comes after the look whether the server can be
	// written to, which a reader's own setting would deny.
	session := "SET default_transaction_read_only = on"
	if !readOnly {
		// A node that freezes inside a transaction must not keep its locks: others
		// wait for them to take over its leases.
		limit := cmp.Or(cfg.RuntimeParams[pgIdleInTx], "5s")
		session = "SET " + pgIdleInTx + " = '" + strings.ReplaceAll(limit, "'", "") + "'"
	}
	delete(cfg.RuntimeParams, pgIdleInTx)
	cfg.ValidateConnect = servers.Validate(session)
	p := &pgline.Pool{Hasty: readOnly} // writes are tried again, each with the whole time limit
	p.DB = sql.OpenDB(postgresConnector{
		Connector: stdlib.GetConnector(*cfg), hosts: servers, pool: p, fault: opt.Fault, seen: opt.Seen, readOnly: readOnly,
	})
	return p, nil
}

func (e *postgresEngine) write(ctx context.Context, fn writeFunc) error {
	e.open.RLock()
	defer e.open.RUnlock()
	if e.closed {
		return ErrClosed
	}
	e.inside.Add(1)
	defer e.inside.Add(-1)
	p := &pgline.Pass{Lanes: &e.lanes}
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
		if IsSerialization(err) {
			p.Lose()
		}
		if err := pgline.PauseBefore(ctx, try); err != nil {
			return err
		}
	}
}

// attempt runs fn once, in the lanes that earlier tries asked for.
func (e *postgresEngine) attempt(ctx context.Context, fn writeFunc, p *pgline.Pass, try int) error {
	inTurn := p.Turn(ctx)
	if err := p.Enter(ctx); err != nil {
		return err
	}
	defer p.Leave()
	conn, err := e.db.writers.Conn(ctx)
	if err != nil {
		return fmt.Errorf("begin write: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if inTurn || try >= pgFleetLane {
		release, err := p.EnterFleet(ctx, conn)
		if err != nil {
			return err
		}
		defer release()
	}
	end, err := p.Begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	return e.transact(ctx, conn, sql.LevelSerializable, p, fn)
}

// transact runs fn in one transaction and commits it.
func (e *postgresEngine) transact(ctx context.Context, conn *sql.Conn, level sql.IsolationLevel, p *pgline.Pass,
	fn writeFunc,
) (err error) {
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

// short reports that the server has fewer connections than this node wants.
func (e *postgresEngine) short() bool { return e.writers.Short() || e.readers.Short() }

// close waits for the writes that were accepted.
func (e *postgresEngine) close() {
	e.open.Lock()
	defer e.open.Unlock()
	e.closed = true
}
