package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/castalia-org/castalia/internal/platform/sqldb/pgline"
)

// postgresConnector opens connections whose errors are classified.
type postgresConnector struct {
	driver.Connector
	hosts    *pgline.Hosts
	pool     *pgline.Pool
	fault    func(Stage) error
	seen     func(string, []driver.NamedValue)
	readOnly bool
}

// Connect implements driver.Connector.
func (c postgresConnector) Connect(ctx context.Context) (driver.Conn, error) {
	if c.fault != nil {
		if err := c.fault(StageConnect); err != nil {
			return nil, err
		}
	}
	epoch := c.hosts.Epoch.Load()
	dc, err := c.pool.Connect(ctx, c.Connector, func(err error) bool { return sqlState(err) == "53300" })
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
	return &postgresConn{Conn: conn, hosts: c.hosts, epoch: epoch, fault: c.fault, seen: c.seen, readOnly: c.readOnly}, nil
}

// postgresConn adds the classification of errors and the fault hook to the
// driver's connection; pgx keeps its prepared statements.
type postgresConn struct {
	*stdlib.Conn
	hosts    *pgline.Hosts
	epoch    int64 // of hosts, when it was opened
	fault    func(Stage) error
	seen     func(string, []driver.NamedValue)
	readOnly bool
}

// IsValid implements driver.Validator: whether the pool keeps the connection.
func (c *postgresConn) IsValid() bool {
	return !c.isLeft() && !c.Conn.Conn().IsClosed()
}

// isLeft reports whether the server of the connection was found frozen or fenced
// after it was opened. Its word does not count any more.
func (c *postgresConn) isLeft() bool { return c.hosts.Epoch.Load() != c.epoch }

// lives asks whether the server of the connection still answers anybody.
func (c *postgresConn) lives() bool {
	host := pgline.HostOf(c.Conn.Conn().PgConn().Conn())
	if host == nil || host.Lives() {
		return true
	}
	c.hosts.Leave(c.epoch)
	return false
}

// explain is classify for an error of this connection. A server that refuses
// writes was fenced, or is a standby now, and is left.
func (c *postgresConn) explain(err error) error {
	if !c.readOnly && sqlState(err) == "25006" {
		c.hosts.Leave(c.epoch)
	}
	return classify(err)
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
	if !c.IsValid() {
		return driver.ErrBadConn
	}
	try, cancel := context.WithTimeout(ctx, pgConnectTimeout)
	defer cancel()
	err := c.Conn.ResetSession(try)
	if err != nil && try.Err() != nil && ctx.Err() == nil {
		c.hosts.Leave(c.epoch) // it took the connection and says nothing
	}
	return err
}

// BeginTx implements driver.ConnBeginTx.
func (c *postgresConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if err := c.ask(StageStatement); err != nil {
		return nil, err
	}
	if c.Conn.Conn().IsClosed() {
		return nil, classify(driver.ErrBadConn)
	}
	ctx, p := c.newPatience(caller(ctx), pgSilence)
	defer p.End()
	tx, err := c.Conn.Conn().BeginTx(ctx, pgline.TxOptions(opts))
	if err != nil {
		return nil, p.explain(err)
	}
	return postgresTx{tx, c}, nil
}

// ExecContext implements driver.ExecerContext.
func (c *postgresConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.ask(StageStatement); err != nil {
		return nil, err
	}
	if c.seen != nil {
		c.seen(query, args)
	}
	if ctx.Value(awaitedKey{}) != nil {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, p := c.newPatience(ctx, pgSilence)
	defer p.End()
	res, err := c.Conn.ExecContext(ctx, query, args)
	return res, p.explain(err)
}

// QueryContext implements driver.QueryerContext.
func (c *postgresConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.ask(StageStatement); err != nil {
		return nil, err
	}
	if c.seen != nil {
		c.seen(query, args)
	}
	ctx, p := c.newPatience(ctx, pgSilence)
	rows, err := c.Conn.QueryContext(ctx, query, args)
	p.Rest()
	if err == nil {
		if r, ok := rows.(*stdlib.Rows); ok {
			return &postgresRows{r, p}, nil
		}
		err = errors.Join(fmt.Errorf("postgres driver's rows are a %T", rows), rows.Close())
	}
	err = p.explain(err)
	p.End()
	if c.readOnly && !p.Over() && IsUnavailable(err) && c.Conn.Conn().IsClosed() {
		err = errors.Join(driver.ErrBadConn, err) // a read may be tried on another connection
	}
	return nil, err
}

// postgresRows are rows that come over a line which may go dead.
type postgresRows struct {
	*stdlib.Rows
	patience patience
}

// Next implements driver.Rows.
func (r *postgresRows) Next(dest []driver.Value) error {
	r.patience.Again()
	err := r.Rows.Next(dest)
	r.patience.Rest()
	return r.patience.explain(err)
}

// Close implements driver.Rows. It reads what is left.
func (r *postgresRows) Close() error {
	r.patience.Again()
	err := r.Rows.Close()
	err = r.patience.explain(err)
	r.patience.End()
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
	if t.conn.isLeft() {
		return errors.Join(unavailable(errLeft), t.Rollback())
	}
	ctx, p := t.conn.newPatience(context.Background(), pgCommitLimit)
	defer p.End()
	return p.explain(t.tx.Commit(ctx))
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

var (
	errSilent = errors.New("no answer from the server")
	// errLeft is what a server says that others were promoted over: it stood still,
	// goes on, and knows nothing of what happened meanwhile.
	errLeft = errors.New("the server was found frozen or fenced while it was asked")
)

// patience bounds how long the server of a connection is waited for in vain.
type patience struct {
	*pgline.Patience
	conn *postgresConn
}

func (c *postgresConn) newPatience(ctx context.Context, limit time.Duration) (context.Context, patience) {
	ctx, p := pgline.NewPatience(ctx, limit, ctx.Value(unhurriedKey{}) != nil, c.lives)
	return ctx, patience{p, c}
}

// explain is the connection's for an error that may be the end of the patience.
func (p patience) explain(err error) error {
	if err == nil || err == io.EOF { //nolint:errorlint // the driver's own end of rows
		if p.conn.isLeft() {
			return unavailable(errLeft)
		}
		return err
	}
	if p.Over() {
		return unavailable(fmt.Errorf("%w: %w", errSilent, err))
	}
	return p.conn.explain(err)
}
