package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/castalia-org/castalia/internal/identity/identitysql"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
	"github.com/castalia-org/castalia/internal/service/filestore"
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
	return []sqldb.Migrations{identitysql.Migrations(), ussdsql.Migrations(), filestoresql.Migrations(), oraclesql.Migrations()}
}

// Migrate brings the database up to date, or, with status alone, only lists
// what was applied and what is pending. It may run beside live nodes.
func Migrate(ctx context.Context, opt Options, statusOnly bool) (_ []sqldb.Migration, err error) {
	r := &resources{log: opt.Log}
	if err := r.openDatabase(ctx, &opt.Settings); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
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

// DoctorOptions say how thorough and how bold the doctor is.
type DoctorOptions struct{ Deep, Repair bool }

// Finding is one thing that the doctor looked at.
type Finding struct {
	Part    string
	Text    string
	Problem bool
	Remedy  string
}

// Doctor examines the stores and tells what it finds as it goes. In the
// embedded shape it needs the data folder for itself; on a fleet it may run
// beside live nodes.
func Doctor(ctx context.Context, opt Options, how DoctorOptions, tell func(Finding)) (err error) {
	r, err := openResources(ctx, &opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	report := func(part, good string, err error, remedy string) {
		if err != nil {
			tell(Finding{Part: part, Text: err.Error(), Problem: true, Remedy: remedy})
			return
		}
		tell(Finding{Part: part, Text: good})
	}
	report("database", r.db.Dialect().String()+" answers", r.db.Ping(ctx), "check DATABASE_URL and that the server runs")
	problems, err := r.db.Check(ctx, how.Deep)
	if err == nil && len(problems) > 0 {
		err = errors.New(strings.Join(problems, "; "))
	}
	report("tables", "the database is sound", err, "restore the last backup; on PostgreSQL use its own tools")
	if how.Deep {
		sum, err := r.db.Sum(ctx)
		report("records", fmt.Sprintf("%d rows of %d tables, sum %.16s", sum.Rows, sum.Tables, sum.Hash), err, "the database could not be read whole: see what it says")
	}
	report("keys", "every key is the one this database was made with", checkSecrets(ctx, r.db, &opt.Settings), "give back the keys that were in force")
	report("objects", "the object store answers", r.blobs.Ping(ctx), "check BLOB_URL and its credentials")
	report("bus", "hints can be sent", r.bus.Ping(ctx), "check NATS_URL; without it nodes are slower to notice each other")
	pending := 0
	for _, m := range allMigrations() {
		state, err := r.db.MigrationStatus(ctx, m)
		if err != nil {
			return err
		}
		for _, one := range state {
			if one.Applied.IsZero() {
				pending++
			}
		}
	}
	var late error
	if pending > 0 {
		late = fmt.Errorf("%d migrations are pending", pending)
	}
	report("schema", "every migration is applied", late, "run `castalia migrate`")
	if late != nil {
		return nil // the services' tables may not be there yet
	}
	files, err := newFiles(ctx, r, opt)
	if err != nil {
		return err
	}
	return files.Doctor(ctx, filestore.Examine{Deep: how.Deep, Repair: how.Repair}, func(f filestore.Finding) {
		out := Finding{Part: "files", Text: f.Text, Problem: f.Problem && !f.Repaired}
		switch {
		case f.Repaired:
			out.Text += " (repaired)"
		case f.Problem && !how.Repair:
			out.Remedy = "run `castalia doctor --repair`, or restore from a backup what can not be mended"
		}
		tell(out)
	})
}
