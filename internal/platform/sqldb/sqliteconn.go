package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// stmtCacheSize bounds the prepared statements that a connection keeps. The whole program has a few hundred.
const stmtCacheSize = 384

// sqliteConnector opens connections that keep their prepared statements.
type sqliteConnector struct {
	driver.Connector
	fault func(Stage) error
	seen  func(string, []driver.NamedValue)
}

// Connect implements driver.Connector.
func (c sqliteConnector) Connect(ctx context.Context) (driver.Conn, error) {
	if c.fault != nil {
		if err := c.fault(StageConnect); err != nil {
			return nil, err
		}
	}
	dc, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, classify(err)
	}
	conn, ok := dc.(sqliteDriverConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("sqlite driver's connection is a %T", dc), dc.Close())
	}
	return &sqliteConn{sqliteDriverConn: conn, fault: c.fault, seen: c.seen, stmts: make(map[string]*cachedStmt)}, nil
}

// sqliteDriverConn is what the driver's connections offer.
type sqliteDriverConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.SessionResetter
	driver.Validator
	driver.Pinger
}

// sqliteConn adds to the driver's connection a cache of prepared statements, the check of text, the classification of
// errors and the fault hook. Like every driver connection it is used by one goroutine at a time.
type sqliteConn struct {
	sqliteDriverConn
	fault func(Stage) error
	seen  func(string, []driver.NamedValue)
	stmts map[string]*cachedStmt
	open  *cachedRows // what is being read
}

// cachedStmt is a statement that is kept after use.
type cachedStmt struct {
	driver.Stmt
	exec  driver.StmtExecContext
	query driver.StmtQueryContext
}

// errRowsOpen is PostgreSQL's rule, kept on SQLite too.
var errRowsOpen = errors.New("close the rows of the last query first: a transaction has one line to the database")

// take returns a statement for query, prepared now or earlier.
func (c *sqliteConn) take(ctx context.Context, query string, args []driver.NamedValue) (*cachedStmt, error) {
	if c.fault != nil {
		if err := c.fault(StageStatement); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.open != nil {
		return nil, errRowsOpen
	}
	if c.seen != nil {
		c.seen(query, args)
	}
	if s := c.stmts[query]; s != nil {
		return s, nil
	}
	ds, err := c.PrepareContext(ctx, nameless(keptPlan(query)))
	if err != nil {
		return nil, classify(err)
	}
	s := &cachedStmt{Stmt: ds}
	var okExec, okQuery bool
	s.exec, okExec = ds.(driver.StmtExecContext)
	s.query, okQuery = ds.(driver.StmtQueryContext)
	if !okExec || !okQuery {
		return nil, errors.Join(fmt.Errorf("sqlite driver's statement is a %T", ds), ds.Close())
	}
	if len(c.stmts) >= stmtCacheSize {
		for old, victim := range c.stmts { // any will do: this should not happen
			_ = victim.Close()
			delete(c.stmts, old)
			break
		}
	}
	c.stmts[query] = s
	return s, nil
}

// keptPlan is a statement whose plan does not depend on an argument: SQLite looks at one behind a bare LIMIT, and so
// plans again each time that one is bound, although it is the same; at a sum it does not look.
func keptPlan(query string) string { return strings.ReplaceAll(query, "LIMIT $", "LIMIT 0 + $") }

// ExecContext implements driver.ExecerContext.
func (c *sqliteConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := checkText(args); err != nil {
		return nil, err
	}
	s, err := c.take(ctx, query, args)
	if err != nil {
		return nil, err
	}
	res, err := s.exec.ExecContext(ctx, args)
	return res, classify(err)
}

// QueryContext implements driver.QueryerContext.
func (c *sqliteConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := checkText(args); err != nil {
		return nil, err
	}
	s, err := c.take(ctx, query, args)
	if err != nil {
		return nil, err
	}
	rows, err := s.query.QueryContext(ctx, args)
	if err != nil {
		return nil, classify(err)
	}
	c.open = &cachedRows{Rows: rows, conn: c}
	return c.open, nil
}

// BeginTx implements driver.ConnBeginTx.
func (c *sqliteConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if c.fault != nil {
		if err := c.fault(StageStatement); err != nil {
			return nil, err
		}
	}
	tx, err := c.sqliteDriverConn.BeginTx(ctx, opts)
	return tx, classify(err)
}

// Close implements driver.Conn.
func (c *sqliteConn) Close() error {
	if c.open != nil {
		_ = c.open.Close()
	}
	for _, s := range c.stmts {
		_ = s.Close()
	}
	c.stmts = nil
	return c.sqliteDriverConn.Close()
}

// cachedRows frees its connection when it is closed.
type cachedRows struct {
	driver.Rows
	conn   *sqliteConn
	closed bool
}

// Close implements driver.Rows.
func (r *cachedRows) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	r.conn.open = nil
	return classify(r.Rows.Close())
}

// Next implements driver.Rows.
func (r *cachedRows) Next(dest []driver.Value) error {
	if r.closed {
		return errors.New("rows were closed at the end of their transaction")
	}
	if err := r.Rows.Next(dest); err != nil {
		return classify(err)
	}
	for i := range dest {
		if b, ok := dest[i].([]byte); ok && b == nil {
			dest[i] = []byte{} // the driver says nil for an empty blob; nil is NULL
		}
	}
	return nil
}

// checkText refuses what PostgreSQL would refuse, so that both engines keep exactly the texts they are given.
func checkText(args []driver.NamedValue) error {
	for i := range args {
		if s, ok := args[i].Value.(string); ok && (strings.IndexByte(s, 0) >= 0 || !utf8.ValidString(s)) {
			return fault.Wrap(fault.Invalid, "Text must be UTF-8 without NUL characters.",
				fmt.Errorf("argument %d", args[i].Ordinal))
		}
	}
	return nil
}
