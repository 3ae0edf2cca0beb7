package sqldb

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Migrations are one service's changes to the schema, oldest first.
//
// FS holds files called NNNN_name.sql, at its root or in a folder migrations/ as
// packages embed it: for both engines, or below that in folders sqlite/ and
// postgres/. A text may use the words {{text}}, {{int}},
// {{real}}, {{bool}}, {{blob}}, {{identity}} for types and {{table}} or
// {{clustered}} after the closing bracket of a table (see dialect.go).
//
// Migrations only add: the previous release must run on the new schema, and a
// file that was released never changes. A database that is newer than the
// program is therefore welcome; one in which a known migration has another
// text is not.
type Migrations struct {
	Service string
	FS      fs.FS
}

// Migration is one file and its state in a database.
type Migration struct {
	Service string
	Version int64
	Name    string
	// Applied is zero while the migration is pending.
	Applied time.Time
	// Unknown marks one that a newer program applied.
	Unknown bool

	sum  string
	text string
}

// Sum returns the checksum of the migration's text.
func (m Migration) Sum() string { return m.sum }

//go:embed migrations/*.sql
var platformFiles embed.FS

// Platform returns the migrations of this package. Migrate applies them first;
// they are public for listings.
func Platform() Migrations { return Migrations{Service: "platform", FS: platformFiles} }

var (
	serviceName   = regexp.MustCompile(`^[a-z][a-z0-9_]{0,30}$`)
	migrationName = regexp.MustCompile(`^([0-9]{4})_([a-z0-9_]+)\.sql$`)
)

// Migrate brings the service's tables up to date: all pending migrations or
// none. Several nodes may call it at once.
func (db *DB) Migrate(ctx context.Context, m Migrations) error {
	if !db.platformReady.Load() {
		if err := db.MigrateTo(ctx, Platform(), math.MaxInt64); err != nil {
			return err
		}
		db.platformReady.Store(true)
	}
	if m.Service == Platform().Service {
		return nil
	}
	return db.MigrateTo(ctx, m, math.MaxInt64)
}

// MigrateTo brings one service's tables, or those of this package, to an older state:
// that of an archive which is then read and brought up to date by Migrate.
func (db *DB) MigrateTo(ctx context.Context, m Migrations, last int64) error {
	files, err := m.read(db.dialect)
	if err != nil {
		return err
	}
	files = files[:min(last, int64(len(files)))]
	err = db.engine.migrate(ctx, func(ctx context.Context, tx Querier) error {
		return db.apply(ctx, tx, m.Service, files)
	})
	if err != nil {
		return fmt.Errorf("migrate %s: %w", m.Service, err)
	}
	return nil
}

func (db *DB) apply(ctx context.Context, tx Querier, service string, files []Migration) error {
	create, err := db.dialect.expand(`CREATE TABLE IF NOT EXISTS ` + service + `_migrations (
		version {{int}} NOT NULL PRIMARY KEY, name {{text}} NOT NULL, sum {{text}} NOT NULL, applied_ms {{int}} NOT NULL
	) {{table}}`)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, create); err != nil {
		return fmt.Errorf("create version table: %w", err)
	}
	known, err := compare(ctx, tx, service, files)
	if err != nil {
		return err
	}
	for _, f := range known {
		if !f.Applied.IsZero() {
			continue
		}
		if _, err := tx.ExecContext(unhurried(ctx), f.text); err != nil {
			return fmt.Errorf("apply %04d_%s: %w", f.Version, f.Name, err)
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO `+service+`_migrations (version, name, sum, applied_ms) VALUES ($1, $2, $3, $4)`,
			f.Version, f.Name, f.sum, MS(time.Now()))
		if err != nil {
			return fmt.Errorf("note %04d_%s: %w", f.Version, f.Name, err)
		}
		db.opt.Logger.InfoContext(ctx, "schema migrated", slog.String("event", "database.migrated"), slog.String("service", service),
			slog.Int64("version", f.Version), slog.String("name", f.Name))
	}
	return nil
}

// compare puts the files beside what the database has applied.
func compare(ctx context.Context, tx Querier, service string, files []Migration) (_ []Migration, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT version, name, sum, applied_ms FROM `+service+`_migrations ORDER BY version`)
	if err != nil {
		return nil, fmt.Errorf("read version table: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	all := slices.Clone(files)
	for rows.Next() {
		var had Migration
		var ms int64
		if err := rows.Scan(&had.Version, &had.Name, &had.sum, &ms); err != nil {
			return nil, fmt.Errorf("read version table: %w", err)
		}
		had.Service, had.Applied = service, Time(ms)
		at, found := slices.BinarySearchFunc(all, had, func(a, b Migration) int { return int(a.Version - b.Version) })
		switch {
		case !found:
			had.Unknown = true
			all = slices.Insert(all, at, had)
		case all[at].sum != had.sum:
			return nil, fmt.Errorf("migration %04d_%s differs from the one this database was made with (%04d_%s): "+
				"a released migration must not change", all[at].Version, all[at].Name, had.Version, had.Name)
		default:
			all[at].Applied = had.Applied
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read version table: %w", err)
	}
	return all, nil
}

// MigrationStatus lists the service's migrations, applied and pending, oldest first. It changes nothing.
func (db *DB) MigrationStatus(ctx context.Context, m Migrations) ([]Migration, error) {
	files, err := m.read(db.dialect)
	if err != nil {
		return nil, err
	}
	if is, err := db.HasTablesOf(ctx, db.Read(), m); err != nil || !is {
		return files, err
	}
	return compare(ctx, db.Read(), m.Service, files)
}

// HasTablesOf reports, as q sees it, whether a service's tables were made, by whichever node.
func (db *DB) HasTablesOf(ctx context.Context, q Querier, m Migrations) (bool, error) {
	var n int
	exists := `SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name = $1`
	if db.dialect == Postgres {
		exists = `SELECT COUNT(*) FROM pg_catalog.pg_class WHERE oid = to_regclass($1)`
	}
	if err := q.QueryRowContext(ctx, exists, m.Service+"_migrations").Scan(&n); err != nil {
		return false, fmt.Errorf("look for version table of %s: %w", m.Service, err)
	}
	return n > 0, nil
}

// read returns the files for an engine, oldest first, and refuses what could
// not be applied everywhere in the same order.
func (m Migrations) read(d Dialect) ([]Migration, error) {
	if !serviceName.MatchString(m.Service) {
		return nil, fmt.Errorf("migrations: bad service name %q", m.Service)
	}
	dir := m.FS
	for _, below := range []string{"migrations", d.String()} {
		if _, err := fs.Stat(dir, below); err == nil {
			if dir, err = fs.Sub(dir, below); err != nil {
				return nil, fmt.Errorf("migrations of %s: %w", m.Service, err)
			}
		}
	}
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, fmt.Errorf("migrations of %s: %w", m.Service, err)
	}
	var all []Migration
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), ".sql") {
			continue
		}
		part := migrationName.FindStringSubmatch(e.Name())
		if part == nil {
			return nil, fmt.Errorf("migrations of %s: file %q is not called NNNN_name.sql", m.Service, e.Name())
		}
		text, err := fs.ReadFile(dir, e.Name())
		if err != nil {
			return nil, fmt.Errorf("migrations of %s: %w", m.Service, err)
		}
		version, err := strconv.ParseInt(part[1], 10, 64)
		if err != nil || version != int64(len(all))+1 {
			return nil, fmt.Errorf("migrations of %s: %s should have the number %04d", m.Service, e.Name(), len(all)+1)
		}
		sum := sha256.Sum256(text)
		f := Migration{Service: m.Service, Version: version, Name: part[2], sum: hex.EncodeToString(sum[:])}
		if f.text, err = d.expand(string(text)); err != nil {
			return nil, fmt.Errorf("migrations of %s: %s: %w", m.Service, e.Name(), err)
		}
		all = append(all, f)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("migrations of %s: no files", m.Service)
	}
	return all, nil
}
