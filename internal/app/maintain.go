package app

import (
	"context"
	"errors"

	"github.com/castalia-org/castalia/internal/identity/identitysql"
	"github.com/castalia-org/castalia/internal/identity/membership/membershipsql"
	"github.com/castalia-org/castalia/internal/platform/operatordoc/operatordocsql"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
)

// allMigrations lists every service's tables, whatever this node serves: a
// fleet shares one database.
func allMigrations() []sqldb.Migrations {
	return append([]sqldb.Migrations{appMigrations()}, serviceMigrations()...)
}

func serviceMigrations() []sqldb.Migrations {
	return []sqldb.Migrations{identitysql.Migrations(), membershipsql.Migrations(), operatordocsql.Migrations(), ussdsql.Migrations(), filestoresql.Migrations(), oraclesql.Migrations()}
}

// Migrate brings the database up to date, or, with status alone, only lists
// what was applied and what is pending. It may run beside live nodes.
func Migrate(ctx context.Context, opt Options, statusOnly bool) (_ []sqldb.Migration, err error) {
	r := &resources{log: opt.Log}
	defer func() { err = errors.Join(err, r.close()) }()
	open := sqldb.Open
	if statusOnly {
		open = sqldb.OpenReadOnly
	}
	if err := r.openExisting(ctx, &opt.Settings, open); err != nil {
		return nil, err
	}
	var all []sqldb.Migration
	for _, m := range allMigrations() {
		if !statusOnly {
			if err := r.db.Migrate(ctx, m); err != nil {
				return nil, err
			}
		}
		state, err := r.db.MigrationStatus(ctx, m)
		if err != nil {
			return nil, err
		}
		all = append(all, state...)
	}
	return all, nil
}

// measureDatabase shows the database's counters to operators.
func measureDatabase(m *telemetry.Metrics, db *sqldb.DB) {
	for name, counter := range map[string]struct {
		help string
		read func(sqldb.Stats) int64
	}{
		"database_writes_total":        {"Write transactions asked for.", func(s sqldb.Stats) int64 { return s.Writes }},
		"database_commits_total":       {"Commits; on SQLite writers share them.", func(s sqldb.Stats) int64 { return s.Commits }},
		"database_write_retries_total": {"Write functions run again after a conflict.", func(s sqldb.Stats) int64 { return s.Retries }},
		"database_slow_writes_total":   {"Write functions that took more than 100 ms.", func(s sqldb.Stats) int64 { return s.Slow }},
	} {
		m.CounterFunc(name, counter.help, func() float64 { return float64(counter.read(db.Stats())) })
	}
	m.GaugeFunc("database_writes_waiting", "Writes that wait for their turn.", func() float64 { return float64(db.Stats().Waiting) })
	m.GaugeFunc("database_readers_open", "Connections that read.", func() float64 { return float64(db.Stats().Readers.OpenConnections) })
}
