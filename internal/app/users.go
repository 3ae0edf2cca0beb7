package app

import (
	"context"
	"errors"
	"time"

	"github.com/castalia-org/castalia/internal/app/owing"
	"github.com/castalia-org/castalia/internal/app/people"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/queue"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/webhook/webhooksql"
)

// peopleSurface lets operators look after people.
func (a *App) peopleSurface(files *filesPart, talking *oraclePart) []httpserver.Surface {
	keep := people.Services{
		DB: a.res.db, Identity: a.identity, Keys: a.keys, Webhooks: webhooksql.New(a.res.db, queue.Config{}),
		Serves: a.serves, Now: a.res.now, Log: a.opt.Log,
	}
	if files != nil {
		keep.Files, keep.Folders, keep.Know = files.service, files.folders, files.knowledge.Service
	}
	if talking != nil {
		keep.Chats, keep.Plugins = talking.chats, talking.plugins
		keep.Calls, keep.Missing, keep.Archived = oraclesql.New(a.res.db).CallsAfter, a.cold.Missing, a.cold.Has
	}
	who := people.Deps{
		Book: a.access.book, Announce: a.access.door.Announce, Lists: people.Stored(a.res.db, a.serves),
		Service: a.identity.DID(), RoleOf: a.roles.book.Held, PersonOf: a.identity.PersonOf, Settles: 3 * time.Second,
		Quotas: a.access.quotas, Usual: a.usual, Used: people.Counted(a.res.db, a.serves, a.res.now),
		Holdings: keep.Holdings(), Elsewhere: keep.Elsewhere, Export: keep.Export,
		Log: a.opt.Log,
	}
	owed := owing.Deps{People: who.Page}
	if talking != nil {
		owed.Use(talking.plugins.Loaded())
	}
	return []httpserver.Surface{people.Surface(who), owing.Surface(owed)}
}

// measures are the oracle's part of the allowances.
func (a *App) measures() oracle.Measures {
	return oracle.Measures{
		Usual: func() (user, telephone oracle.Measure) {
			l := a.allowances()
			return oracle.Measure{Messages: l.Messages, CostMicros: l.CostMicros},
				oracle.Measure{Messages: l.questions, CostMicros: l.CostMicros}
		},
		Own: people.MeasureOf(a.access.quotas),
	}
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
