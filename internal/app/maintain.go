package app

import (
	"context"
	"errors"

	"github.com/castalia-org/castalia/internal/app/autohttps"
	"github.com/castalia-org/castalia/internal/app/webhooks"
	"github.com/castalia-org/castalia/internal/identity/identitysql"
	"github.com/castalia-org/castalia/internal/identity/membership/membershipsql"
	"github.com/castalia-org/castalia/internal/platform/audit"
	"github.com/castalia-org/castalia/internal/platform/operatordoc/operatordocsql"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
)

// allMigrations lists every service's tables, whatever this node serves: a
// fleet shares one database.
func allMigrations() []sqldb.Migrations {
	return append([]sqldb.Migrations{appMigrations()}, serviceMigrations()...)
}

func serviceMigrations() []sqldb.Migrations {
	return append(webhooks.Migrations(), autohttps.Migrations(), audit.Migrations(), identitysql.Migrations(),
		membershipsql.Migrations(), operatordocsql.Migrations(),
		ussdsql.Migrations(), filestoresql.Migrations(), knowledgesql.Migrations(), oraclesql.Migrations())
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
