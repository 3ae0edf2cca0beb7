package app

import (
	"context"
	"errors"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/usage"
)

// Usage opens what models were asked for the command line, beside nodes that run
// or not.
func Usage(ctx context.Context, opt Options, use func(usage.Store) error) (err error) {
	r := &resources{log: opt.Log}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.openExisting(ctx, &opt.Settings, sqldb.Open); err != nil {
		return err
	}
	if err := r.db.Migrate(ctx, oraclesql.Migrations()); err != nil {
		return err
	}
	return use(oraclesql.New(r.db))
}
