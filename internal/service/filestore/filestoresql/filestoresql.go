// Package filestoresql keeps the file store's records in SQLite or PostgreSQL.
//
// It promises that every change is one transaction, with its event, its counters
// and its receipt; that scopes are conditions of the query; and that listing a
// page or finding a CID costs the same in a namespace of any size. It refuses to
// touch another service's tables.
package filestoresql

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/together"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filereport"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql/scoped"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations returns the schema of the file store.
func Migrations() sqldb.Migrations { return sqldb.Migrations{Service: "filestore", FS: migrations} }

// Store implements filestore.Store.
type Store struct {
	db     *sqldb.DB
	outbox filereport.Outbox
	joined *together.Writer // changes of a namespace, which all move its counters
}

var _ filestore.Store = (*Store)(nil)

// New returns a Store on a database that has the migrations.
func New(db *sqldb.DB) *Store { return &Store{db: db, joined: together.New(db)} }

// WithOutbox returns the store with somebody who hears of changes.
func (s *Store) WithOutbox(o filereport.Outbox) *Store {
	return &Store{db: s.db, outbox: o, joined: s.joined}
}

// absent turns "no rows" into a fault.
func absent(err error, what string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fault.New(fault.NotFound, "no such "+what)
	}
	return err
}

// scanner is a row.
type scanner interface{ Scan(dest ...any) error }

// collect reads all rows.
func collect[T any](
	ctx context.Context, db sqldb.Querier, q *scoped.Query, scan func(scanner) (T, error),
) ([]T, error) {
	return collectSome(ctx, db, q, scan, func(T) bool { return true })
}

// collectSome reads rows as long as somebody wants more.
func collectSome[T any](
	ctx context.Context, db sqldb.Querier, q *scoped.Query, scan func(scanner) (T, error), more func(T) bool,
) ([]T, error) {
	rows, err := db.QueryContext(ctx, q.Text(), q.Args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		if all = append(all, v); !more(v) {
			return all, nil
		}
	}
	return all, rows.Err()
}

// one reads the only row.
func one[T any](ctx context.Context, db sqldb.Querier, q *scoped.Query, scan func(scanner) (T, error)) (T, error) {
	return scan(db.QueryRowContext(ctx, q.Text(), q.Args...))
}

// affectedOne fails with err unless exactly one row was changed.
func affectedOne(r sql.Result, err, otherwise error) error {
	if err != nil {
		return err
	}
	n, err := r.RowsAffected()
	if err != nil {
		return fmt.Errorf("count rows: %w", err)
	}
	if n != 1 {
		return otherwise
	}
	return nil
}

// Namespaces lists the namespaces that hold or held something, in order, after one.
func (s *Store) Namespaces(ctx context.Context, after string, limit int) ([]string, error) {
	return sqldb.Strings(ctx, s.db.Read(), `SELECT ns FROM filestore_namespaces WHERE ns > $1 ORDER BY ns LIMIT $2`, after, limit)
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
