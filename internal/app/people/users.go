package people

import (
	"context"

	"github.com/castalia-org/castalia/internal/identity/identitysql"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
)

// lister pages through who has something stored, in order.
type lister struct {
	tables sqldb.Migrations
	list   List
}

// usersOf lists who keeps something with the services, by their records.
// Telephones' accounts are not DIDs.
func usersOf(db *sqldb.DB) []lister {
	return []lister{
		{identitysql.Migrations(), identitysql.New(db).Delegators},
		{filestoresql.Migrations(), filestoresql.New(db).Namespaces},
		{oraclesql.Migrations(), oraclesql.New(db).Owners},
	}
}

// Any reports whether anybody has used a deployment, telephones' users among them.
func Any(ctx context.Context, db *sqldb.DB) (bool, error) {
	for _, l := range append(usersOf(db), lister{ussdsql.Migrations(), ussdsql.New(db).AccountIDs}) {
		is, err := Migrated(ctx, db, l.tables)
		if err != nil {
			return false, err
		}
		if !is {
			continue
		}
		if some, err := l.list(ctx, "", 1); err != nil || len(some) > 0 {
			return len(some) > 0, err
		}
	}
	return false, nil
}

// Migrated reports whether a service's tables are there: another node may be the
// only one that serves it.
func Migrated(ctx context.Context, db *sqldb.DB, m sqldb.Migrations) (bool, error) {
	return db.HasTablesOf(ctx, db.Read(), m)
}

const userPage = 500

// Known calls tell with every DID that has something stored, once.
func Known(ctx context.Context, db *sqldb.DB, tell func(did string) error) error {
	listed := map[string]bool{}
	for _, l := range usersOf(db) {
		is, err := Migrated(ctx, db, l.tables)
		if err != nil {
			return err
		}
		for after := ""; is; {
			some, err := l.list(ctx, after, userPage)
			if err != nil {
				return err
			}
			for _, name := range some {
				after = name
				did := DIDOf(name)
				if did == "" || listed[did] {
					continue
				}
				listed[did] = true
				if err := tell(did); err != nil {
					return err
				}
			}
			is = len(some) == userPage
		}
	}
	return nil
}
