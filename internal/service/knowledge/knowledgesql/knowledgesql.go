// Package knowledgesql keeps the records of knowledge in SQLite or PostgreSQL.
//
// It promises that who may read a collection is a condition of the query, that a
// document which was read is shown in the same transaction as its segment, and that
// whoever lost a reservation changes nothing. It refuses to touch another service's
// tables: files are known by what the service was told of them.
package knowledgesql

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/quiet"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/textindex/shelfsql"
	"github.com/castalia-org/castalia/internal/service/knowledge"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations returns the schema.
func Migrations() sqldb.Migrations { return sqldb.Migrations{Service: "knowledge", FS: migrations} }

// Store implements knowledge.Store.
type Store struct {
	db     *sqldb.DB
	shelf  shelfsql.Tables
	outbox Outbox // nil when nobody hears
	quiet  *quiet.Watch
}

var _ knowledge.Store = (*Store)(nil)

// New returns a Store on a database that has the migrations.
func New(db *sqldb.DB) *Store {
	return &Store{db: db, shelf: segmentTables(db)}
}

func segmentTables(db *sqldb.DB) shelfsql.Tables {
	return shelfsql.Tables{DB: db, Segments: "knowledge_segments", Collections: "knowledge_collections"}
}

// absent turns "no rows" into a fault.
func absent(err error, what string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fault.New(fault.NotFound, "no such "+what)
	}
	return err
}

// moved is the fault of whoever acts on what is not so any more.
func moved(what string) error { return fault.New(fault.Conflict, what+" has moved on") }

// one fails with otherwise unless exactly one row was changed.
func one(r sql.Result, err, otherwise error) error {
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

// query is SQL text with its arguments.
type query struct {
	b    strings.Builder
	args []any
}

// add appends text, in which each ? is the next argument.
func (q *query) add(text string, args ...any) *query {
	for _, arg := range args {
		before, after, _ := strings.Cut(text, "?")
		q.args = append(q.args, arg)
		q.b.WriteString(before + "$" + strconv.Itoa(len(q.args)))
		text = after
	}
	q.b.WriteString(text)
	return q
}

// scanner is a row.
type scanner interface{ Scan(dest ...any) error }

// collect reads all rows.
func collect[T any](ctx context.Context, db sqldb.Querier, q *query, scan func(scanner) (T, error)) ([]T, error) {
	rows, err := db.QueryContext(ctx, q.b.String(), q.args...)
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
		all = append(all, v)
	}
	return all, rows.Err()
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
