package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// postgresConnector opens connections whose errors are classified.
type postgresConnector struct {
	driver.Connector
	fault    func(Stage) error
	readOnly bool
}

// Connect implements driver.Connector.
func (c postgresConnector) Connect(ctx context.Context) (driver.Conn, error) {
	if c.fault != nil {
		if err := c.fault(StageConnect); err != nil {
			return nil, err
		}
	}
	dc, err := c.Connector.Connect(ctx)
	switch {
	case err == nil:
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		// Not the caller's time was up but the driver's own: nobody answers there.
		return nil, unavailable(err)
	default:
		return nil, classify(err)
	}
	conn, ok := dc.(*stdlib.Conn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("postgres driver's connection is a %T", dc), dc.Close())
	}
	return &postgresConn{Conn: conn, fault: c.fault, readOnly: c.readOnly}, nil
}

// postgresConn adds the classification of errors and the fault hook to the
// driver's connection; pgx keeps its prepared statements.
type postgresConn struct {
	*stdlib.Conn
	fault    func(Stage) error
	readOnly bool
}

func (c *postgresConn) ask(s Stage) error {
	if c.fault == nil {
		return nil
	}
	return c.fault(s)
}

// ResetSession implements driver.SessionResetter: a line that has rested is tried
// before it is used, and one that is dead is left for another.
func (c *postgresConn) ResetSession(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pgConnectTimeout)
	defer cancel()
	return c.Conn.ResetSession(ctx)
}

// BeginTx implements driver.ConnBeginTx.
func (c *postgresConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if err := c.ask(StageStatement); err != nil {
		return nil, err
	}
	if c.Conn.Conn().IsClosed() {
		return nil, classify(driver.ErrBadConn)
	}
	ctx, p := newPatience(caller(ctx))
	defer p.end()
	tx, err := c.Conn.Conn().BeginTx(ctx, txOptions(opts))
	if err != nil {
		return nil, p.explain(err)
	}
	return postgresTx{tx, c}, nil
}

// txOptions are those that this package asks for, in the driver's words.
func txOptions(opts driver.TxOptions) pgx.TxOptions {
	var o pgx.TxOptions
	switch sql.IsolationLevel(opts.Isolation) {
	case sql.LevelSerializable:
		o.IsoLevel = pgx.Serializable
	case sql.LevelRepeatableRead:
		o.IsoLevel = pgx.RepeatableRead
	default:
		o.IsoLevel = pgx.ReadCommitted
	}
	if opts.ReadOnly {
		o.AccessMode = pgx.ReadOnly
	}
	return o
}

// ExecContext implements driver.ExecerContext.
func (c *postgresConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.ask(StageStatement); err != nil {
		return nil, err
	}
	if ctx.Value(awaitedKey{}) != nil {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, p := newPatience(ctx)
	defer p.end()
	res, err := c.Conn.ExecContext(ctx, query, args)
	return res, p.explain(err)
}

// QueryContext implements driver.QueryerContext.
func (c *postgresConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.ask(StageStatement); err != nil {
		return nil, err
	}
	ctx, p := newPatience(ctx)
	rows, err := c.Conn.QueryContext(ctx, query, args)
	p.rest()
	if err == nil {
		if r, ok := rows.(*stdlib.Rows); ok {
			return &postgresRows{r, p}, nil
		}
		err = errors.Join(fmt.Errorf("postgres driver's rows are a %T", rows), rows.Close())
	}
	err = p.explain(err)
	p.end()
	if c.readOnly && !p.over.Load() && IsUnavailable(err) && c.Conn.Conn().IsClosed() {
		err = errors.Join(driver.ErrBadConn, err) // a read may be tried on another connection
	}
	return nil, err
}

// postgresRows are rows that come over a line which may go dead.
type postgresRows struct {
	*stdlib.Rows
	patience *patience
}

// Next implements driver.Rows.
func (r *postgresRows) Next(dest []driver.Value) error {
	r.patience.again()
	err := r.Rows.Next(dest)
	r.patience.rest()
	return r.patience.explain(err)
}

// Close implements driver.Rows. It reads what is left.
func (r *postgresRows) Close() error {
	r.patience.again()
	err := r.Rows.Close()
	err = r.patience.explain(err)
	r.patience.end()
	return err
}

type postgresTx struct {
	tx   pgx.Tx
	conn *postgresConn
}

// Commit implements driver.Tx. Its outcome is awaited, though not for ever.
func (t postgresTx) Commit() error {
	if err := t.conn.ask(StageCommit); err != nil {
		return errors.Join(err, t.Rollback())
	}
	ctx, cancel := context.WithTimeout(context.Background(), pgCommitLimit)
	defer cancel()
	err := t.tx.Commit(ctx)
	if err != nil && ctx.Err() != nil {
		return unavailable(err)
	}
	return classify(err)
}

// Rollback implements driver.Tx. A line that does not answer is closed, which
// rolls back too.
func (t postgresTx) Rollback() error {
	ctx, cancel := context.WithTimeout(context.Background(), pgConnectTimeout)
	defer cancel()
	return classify(t.tx.Rollback(ctx))
}

// callerKey holds the context on whose behalf a transaction is begun.
type callerKey struct{}

// onBehalf returns a context for a transaction that goes on when ctx ends.
func onBehalf(ctx context.Context) context.Context {
	return context.WithValue(context.WithoutCancel(ctx), callerKey{}, ctx)
}

func caller(ctx context.Context) context.Context {
	if c, ok := ctx.Value(callerKey{}).(context.Context); ok {
		return c
	}
	return ctx
}

// awaitedKey marks contexts that count until their statement has begun.
type awaitedKey struct{}

func awaited(ctx context.Context) context.Context { return context.WithValue(ctx, awaitedKey{}, true) }

// unhurriedKey marks contexts of statements that may take as long as they take.
type unhurriedKey struct{}

func unhurried(ctx context.Context) context.Context {
	return context.WithValue(ctx, unhurriedKey{}, true)
}

var errSilent = errors.New("no answer from the server")

// patience bounds how long the server is waited for in vain. A line that went
// dead would otherwise hold whoever asks without a limit of their own, as workers
// do, until the system gives it up after a quarter of an hour, or never when it is
// the server that stands still.
type patience struct {
	cancel context.CancelFunc
	timer  *time.Timer // nil: for ever
	over   atomic.Bool
}

// newPatience returns the context of a statement, which ends with the caller's
// and with the patience.
func newPatience(ctx context.Context) (context.Context, *patience) {
	p := &patience{}
	ctx, p.cancel = context.WithCancel(ctx)
	if ctx.Value(unhurriedKey{}) == nil {
		p.timer = time.AfterFunc(pgSilence, func() {
			p.over.Store(true)
			p.cancel()
		})
	}
	return ctx, p
}

// rest says that the server is not waited for now, again that it is.
func (p *patience) rest() {
	if p.timer != nil {
		p.timer.Stop()
	}
}

func (p *patience) again() {
	if p.timer != nil {
		p.timer.Reset(pgSilence)
	}
}

// end gives back what the patience holds.
func (p *patience) end() {
	p.rest()
	p.cancel()
}

// explain is classify for an error that may be the end of the patience.
func (p *patience) explain(err error) error {
	if err == nil || err == io.EOF { //nolint:errorlint // the driver's own end of rows
		return err
	}
	if p.over.Load() {
		return unavailable(fmt.Errorf("%w for %s: %w", errSilent, pgSilence, err))
	}
	return classify(err)
}
