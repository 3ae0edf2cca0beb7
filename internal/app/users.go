package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/castalia-org/castalia/internal/app/people"
	"github.com/castalia-org/castalia/internal/identity/identitysql"
	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/identity/operators"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
)

// lister pages through who has something stored, in order.
type lister struct {
	tables sqldb.Migrations
	list   func(ctx context.Context, after string, limit int) ([]string, error)
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

// peopleSurface lets operators find people and keep them out.
func (a *App) peopleSurface() httpserver.Surface {
	return people.Surface(people.Deps{
		Book: a.access.book, Announce: a.access.door.Announce, Lists: people.Stored(a.res.db, a.serves),
		Service: a.identity.DID(), RoleOf: a.roles.book.Held,
	})
}

// hasUsers reports whether anybody has used this deployment.
func hasUsers(ctx context.Context, db *sqldb.DB) (bool, error) {
	for _, l := range append(usersOf(db), lister{ussdsql.Migrations(), ussdsql.New(db).AccountIDs}) {
		is, err := migrated(ctx, db, l.tables)
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

// migrated reports whether a service's tables are there: another node may be the
// only one that serves it.
func migrated(ctx context.Context, db *sqldb.DB, m sqldb.Migrations) (bool, error) {
	state, err := db.MigrationStatus(ctx, m)
	return err == nil && len(state) > 0 && !state[0].Applied.IsZero(), err
}

// runsThis reports whether a DID has a role of its own here.
func (a *App) runsThis(ctx context.Context, did string) (bool, error) {
	role, err := a.roles.book.Held(ctx, did)
	return err == nil && role != operators.None, err
}

const userPage = 500

// KnownUsers calls tell with every DID that has something stored here, for
// operators who want to make members of them.
func KnownUsers(ctx context.Context, opt Options, tell func(did string) error) (err error) {
	r := &resources{log: opt.Log}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.openExisting(ctx, &opt.Settings, sqldb.Open); err != nil {
		return err
	}
	listed := map[string]bool{}
	for _, l := range usersOf(r.db) {
		is, err := migrated(ctx, r.db, l.tables)
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
				did := people.DIDOf(name)
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

func accessText(m membership.Mode, how string, members int64) string {
	return fmt.Sprintf("%s (%s), %d members", m, how, members)
}
