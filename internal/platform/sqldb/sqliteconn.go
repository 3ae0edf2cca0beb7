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

// stmtCacheSize bounds the prepared statements that a connection keeps. The
// whole program has a few hundred different ones.
const stmtCacheSize = 384

// sqliteConnector opens connections that keep their prepared statements.
type sqliteConnector struct {
	driver.Connector
	fault func(Stage) error
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
	return &sqliteConn{sqliteDriverConn: conn, fault: c.fault, stmts: map[string]*cachedStmt{}}, nil
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

// sqliteConn adds to the driver's connection a cache of prepared statements,
// the check of text, the classification of errors and the fault hook. Like
// every driver connection it is used by one goroutine at a time.
type sqliteConn struct {
	sqliteDriverConn
	fault func(Stage) error
	stmts map[string]*cachedStmt
	open  map[*cachedRows]struct{}
}

// cachedStmt is a statement that is kept after use.
type cachedStmt struct {
	driver.Stmt
	exec  driver.StmtExecContext
	query driver.StmtQueryContext
	busy  bool // its rows are being read
	kept  bool // it is in the cache
}

// take returns a statement for query that nobody is reading from.
func (c *sqliteConn) take(ctx context.Context, query string) (*cachedStmt, error) {
	if c.fault != nil {
		if err := c.fault(StageStatement); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s := c.stmts[query]; s != nil && !s.busy {
		return s, nil
	}
	ds, err := c.PrepareContext(ctx, query)
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
	if c.stmts[query] == nil && c.room() {
		s.kept = true
		c.stmts[query] = s
	}
	return s, nil
}

// room makes room for one more statement, if it can.
func (c *sqliteConn) room() bool {
	if len(c.stmts) < stmtCacheSize {
		return true
	}
	for query, s := range c.stmts {
		if !s.busy {
			_ = s.Close()
			delete(c.stmts, query)
			return true
		}
	}
	return false
}

func (c *sqliteConn) release(s *cachedStmt) {
	s.busy = false
	if !s.kept {
		_ = s.Close()
	}
}

// ExecContext implements driver.ExecerContext.
func (c *sqliteConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := checkText(args); err != nil {
		return nil, err
	}
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	defer c.release(s)
	res, err := s.exec.ExecContext(ctx, args)
	return res, classify(err)
}

// QueryContext implements driver.QueryerContext.
func (c *sqliteConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := checkText(args); err != nil {
		return nil, err
	}
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := s.query.QueryContext(ctx, args)
	if err != nil {
		c.release(s)
		return nil, classify(err)
	}
	s.busy = true
	r := &cachedRows{Rows: rows, conn: c, stmt: s}
	if c.open == nil {
		c.open = map[*cachedRows]struct{}{}
	}
	c.open[r] = struct{}{}
	return r, nil
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
	c.closeRows()
	for _, s := range c.stmts {
		_ = s.Close()
	}
	c.stmts = nil
	return c.sqliteDriverConn.Close()
}

// closeRows closes result sets that were left open and returns their number.
func (c *sqliteConn) closeRows() int {
	n := len(c.open)
	for r := range c.open {
		_ = r.Close()
	}
	return n
}

// cachedRows gives the statement back when the rows are closed.
type cachedRows struct {
	driver.Rows
	conn   *sqliteConn
	stmt   *cachedStmt
	closed bool
}

// Close implements driver.Rows.
func (r *cachedRows) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	delete(r.conn.open, r)
	err := r.Rows.Close()
	r.conn.release(r.stmt)
	return classify(err)
}

// Next implements driver.Rows.
func (r *cachedRows) Next(dest []driver.Value) error {
	if r.closed {
		return errors.New("rows were closed at the end of their transaction")
	}
	return classify(r.Rows.Next(dest))
}

// checkText refuses what PostgreSQL would refuse, so that both engines keep
// exactly the texts they are given.
func checkText(args []driver.NamedValue) error {
	for i := range args {
		if s, ok := args[i].Value.(string); ok && (strings.IndexByte(s, 0) >= 0 || !utf8.ValidString(s)) {
			return fault.Wrap(fault.Invalid, "Text must be UTF-8 without NUL characters.",
				fmt.Errorf("argument %d", args[i].Ordinal))
		}
	}
	return nil
}
