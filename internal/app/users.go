package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/castalia-org/castalia/internal/app/people"
	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/identity/operators"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// peopleSurface lets operators look after people.
func (a *App) peopleSurface() httpserver.Surface {
	return people.Surface(people.Deps{
		Book: a.access.book, Announce: a.access.door.Announce, Lists: people.Stored(a.res.db, a.serves),
		Service: a.identity.DID(), RoleOf: a.roles.book.Held,
		Quotas: a.access.quotas, Usual: a.allowances().Limits, Used: people.Counted(a.res.db, a.serves, a.res.now),
	})
}

// runsThis reports whether a DID has a role of its own here.
func (a *App) runsThis(ctx context.Context, did string) (bool, error) {
	role, err := a.roles.book.Held(ctx, did)
	return err == nil && role != operators.None, err
}

// KnownUsers calls tell with every DID that has something stored here, for
// operators who want to make members of them.
func KnownUsers(ctx context.Context, opt Options, tell func(did string) error) (err error) {
	r := &resources{log: opt.Log}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.openExisting(ctx, &opt.Settings, sqldb.Open); err != nil {
		return err
	}
	return people.Known(ctx, r.db, tell)
}

func accessText(m membership.Mode, how string, members int64) string {
	return fmt.Sprintf("%s (%s), %d members", m, how, members)
}
