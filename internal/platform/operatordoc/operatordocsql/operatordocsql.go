// Package operatordocsql keeps versions of operators' documents in the database.
package operatordocsql

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"math"

	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations returns the schema.
func Migrations() sqldb.Migrations { return sqldb.Migrations{Service: "operatordoc", FS: files} }

// VersionFeed numbers the versions of all documents.
const VersionFeed = "operatordoc_versions"

// Store is an operatordoc.Store in a database whose migrations were applied.
type Store struct {
	db *sqldb.DB
}

var _ operatordoc.Store = (*Store)(nil)

// New returns a store.
func New(db *sqldb.DB) *Store { return &Store{db: db} }

const (
	headColumns = `document, number, feed, size, removed, restores, author, note, written_ms`
	allColumns  = headColumns + `, body`
)

func scanVersion(row interface{ Scan(into ...any) error }, withText bool) (v operatordoc.Version, err error) {
	var removed, written int64
	into := []any{&v.Document, &v.Number, &v.Feed, &v.Size, &removed, &v.Restores, &v.Author, &v.Note, &written}
	if withText {
		into = append(into, &v.Text)
	}
	err = row.Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return operatordoc.Version{}, nil
	}
	if err != nil {
		return operatordoc.Version{}, fmt.Errorf("read version: %w", err)
	}
	v.Removed, v.Written = removed != 0, sqldb.Time(written)
	return v, nil
}

// AddVersion implements operatordoc.Store.
func (s *Store) AddVersion(ctx context.Context, v operatordoc.Version, after int64) (operatordoc.Version, error) {
	err := s.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		// The feed's row is locked from here on, so that the newest stays the newest.
		number, err := sqldb.NextFeed(ctx, tx, VersionFeed)
		if err != nil {
			return err
		}
		newest, err := newestVersion(ctx, tx, v.Document)
		if err != nil {
			return err
		}
		if newest.Number != after {
			return &operatordoc.ConflictError{Newest: newest}
		}
		v.Feed, v.Number = number, after+1
		removed := 0
		if v.Removed {
			removed = 1
		}
		if v.Text == nil {
			v.Text = []byte{}
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO operatordoc_versions (`+allColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			v.Document, v.Number, v.Feed, v.Size, removed, v.Restores, v.Author, v.Note,
			sqldb.MS(v.Written), v.Text); err != nil {
			return fmt.Errorf("insert version: %w", err)
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM operatordoc_versions WHERE document = $1 AND number <= $2`,
			v.Document, v.Number-operatordoc.KeptVersions); err != nil {
			return fmt.Errorf("forget versions: %w", err)
		}
		return nil
	})
	if err != nil {
		return operatordoc.Version{}, err
	}
	return v, nil
}

func newestVersion(ctx context.Context, q sqldb.Querier, document string) (operatordoc.Version, error) {
	return scanVersion(q.QueryRowContext(ctx, `SELECT `+allColumns+` FROM operatordoc_versions
		WHERE document = $1 ORDER BY number DESC LIMIT 1`, document), true)
}

// NewestVersion implements operatordoc.Store.
func (s *Store) NewestVersion(ctx context.Context, document string) (operatordoc.Version, error) {
	return newestVersion(ctx, s.db.Read(), document)
}

// Version implements operatordoc.Store.
func (s *Store) Version(ctx context.Context, document string, number int64) (operatordoc.Version, error) {
	return scanVersion(s.db.Read().QueryRowContext(ctx, `SELECT `+allColumns+` FROM operatordoc_versions
		WHERE document = $1 AND number = $2`, document, number), true)
}

// Versions implements operatordoc.Store.
func (s *Store) Versions(ctx context.Context, document string, before int64, limit int) ([]operatordoc.Version, error) {
	if before == 0 {
		before = math.MaxInt64
	}
	rows, err := s.db.Read().QueryContext(ctx, `SELECT `+headColumns+` FROM operatordoc_versions
		WHERE document = $1 AND number < $2 ORDER BY number DESC LIMIT $3`, document, before, limit)
	return collectHeads(rows, err)
}

// VersionsSince implements operatordoc.Store.
func (s *Store) VersionsSince(ctx context.Context, feed int64, limit int) ([]operatordoc.Version, error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT `+headColumns+` FROM operatordoc_versions
		WHERE feed > $1 ORDER BY feed LIMIT $2`, feed, limit)
	return collectHeads(rows, err)
}

func collectHeads(rows *sql.Rows, err error) ([]operatordoc.Version, error) {
	if err != nil {
		return nil, fmt.Errorf("list versions: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var out []operatordoc.Version
	for rows.Next() {
		v, err := scanVersion(rows, false)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}
