package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
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
	pgIdle           = 5 * time.Minute
	pgTries          = 12
	pgMaxPause       = 100 * time.Millisecond
)

// postgresEngine writes in SERIALIZABLE transactions, so that what is right on
// SQLite, where functions run one by one, is right here. A function that loses
// against another is run again; again and again, it queues for the slow lane,
// which lets one at a time through on each node, so that many writers of one
// row make progress instead of a storm.
type postgresEngine struct {
	db   *DB
	lane chan struct{}
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
	e := &postgresEngine{db: db, lane: make(chan struct{}, 1)}
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
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "castalia"
	}
	cfg.RuntimeParams["timezone"] = "UTC"
	if readOnly {
		cfg.RuntimeParams["default_transaction_read_only"] = "on"
	}
	return sql.OpenDB(postgresConnector{Connector: stdlib.GetConnector(*cfg), fault: opt.Fault}), nil
}

func (e *postgresEngine) write(ctx context.Context, fn writeFunc) error {
	for try := 1; ; try++ {
		err := e.attempt(ctx, fn, try, sql.LevelSerializable)
		switch {
		case err == nil:
			return nil
		case !retryable(err) || ctx.Err() != nil:
			return err
		case try == pgTries:
			return fault.Wrap(fault.Unavailable, "The database is too busy.",
				fmt.Errorf("gave up after %d tries: %w", try, err)).WithRetryAfter(time.Second)
		}
		e.db.counts.retries.Add(1)
		e.db.opt.Logger.DebugContext(ctx, "write runs again", slog.Int("try", try), slog.Any("error", err))
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

func (e *postgresEngine) attempt(ctx context.Context, fn writeFunc, try int, level sql.IsolationLevel) (err error) {
	if try > 2 {
		select {
		case e.lane <- struct{}{}:
			defer func() { <-e.lane }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	conn, err := e.db.writers.Conn(ctx)
	if err != nil {
		return fmt.Errorf("begin write: %w", err)
	}
	defer func() { _ = conn.Close() }()

	// The transaction outlives the caller's context: whether a commit under way
	// succeeded must be known. The statements inside it do not.
	txCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pgCommitLimit)
	defer cancel()
	tx, err := conn.BeginTx(txCtx, &sql.TxOptions{Isolation: level})
	if err != nil {
		return fmt.Errorf("begin write: %w", err)
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback()
		}
	}()
	h := &handle{q: tx}
	fnCtx := context.WithValue(ctx, writingKey{}, e.db)
	if err := h.finish(ctx, protect(fnCtx, func() error { return fn(fnCtx, h) })); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	e.db.counts.commits.Add(1)
	if e.db.opt.Fault != nil {
		return e.db.opt.Fault(StageCommitted)
	}
	return nil
}

// migrateLock is the advisory lock under which nodes that start together take
// turns: "castalia" in ASCII.
const migrateLock int64 = 0x63617374616c6961

// migrate runs fn alone in the fleet. It reads what others committed while it
// waited for its turn, hence READ COMMITTED.
func (e *postgresEngine) migrate(ctx context.Context, fn writeFunc) error {
	return e.attempt(ctx, func(ctx context.Context, tx Querier) error {
		if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", migrateLock); err != nil {
			return fmt.Errorf("wait for other nodes: %w", err)
		}
		return fn(ctx, tx)
	}, 1, sql.LevelReadCommitted)
}

func (e *postgresEngine) ping(ctx context.Context) error {
	var one int
	return e.db.readers.QueryRowContext(ctx, "SELECT 1").Scan(&one)
}

func (e *postgresEngine) close() {}

// postgresConnector opens connections whose errors are classified.
type postgresConnector struct {
	driver.Connector
	fault func(Stage) error
}

// Connect implements driver.Connector.
func (c postgresConnector) Connect(ctx context.Context) (driver.Conn, error) {
	if c.fault != nil {
		if err := c.fault(StageConnect); err != nil {
			return nil, err
		}
	}
	dc, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, classify(err)
	}
	conn, ok := dc.(*stdlib.Conn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("postgres driver's connection is a %T", dc), dc.Close())
	}
	return &postgresConn{Conn: conn, fault: c.fault}, nil
}

// postgresConn adds the classification of errors and the fault hook to the
// driver's connection; pgx keeps its prepared statements.
type postgresConn struct {
	*stdlib.Conn
	fault func(Stage) error
}

func (c *postgresConn) ask(s Stage) error {
	if c.fault == nil {
		return nil
	}
	return c.fault(s)
}

// BeginTx implements driver.ConnBeginTx.
func (c *postgresConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if err := c.ask(StageStatement); err != nil {
		return nil, err
	}
	tx, err := c.Conn.BeginTx(ctx, opts)
	if err != nil {
		return nil, classify(err)
	}
	return postgresTx{tx, c}, nil
}

// ExecContext implements driver.ExecerContext.
func (c *postgresConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.ask(StageStatement); err != nil {
		return nil, err
	}
	res, err := c.Conn.ExecContext(ctx, query, args)
	return res, classify(err)
}

// QueryContext implements driver.QueryerContext.
func (c *postgresConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.ask(StageStatement); err != nil {
		return nil, err
	}
	rows, err := c.Conn.QueryContext(ctx, query, args)
	return rows, classify(err)
}

type postgresTx struct {
	driver.Tx
	conn *postgresConn
}

// Commit implements driver.Tx.
func (t postgresTx) Commit() error {
	if err := t.conn.ask(StageCommit); err != nil {
		return errors.Join(err, t.Rollback())
	}
	return classify(t.Tx.Commit())
}
