package app

import (
	"context"

	"github.com/castalia-org/castalia/internal/app/keyring"
	"github.com/castalia-org/castalia/internal/app/people"
	"github.com/castalia-org/castalia/internal/app/telephonekit"
	"github.com/castalia-org/castalia/internal/app/webhooks"
	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitysql"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdcount/ussdcounthttp"
	"github.com/castalia-org/castalia/internal/service/ussd/ussddialect"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdform/ussdformhttp"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdhttp"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdkey"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdkey/ussdkeyhttp"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdlist"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople/ussdpeoplehttp"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
)

// buildUSSD makes the telephone gateway. Its menu asks the others, where this
// node has them.
func (a *App) buildUSSD(talking *oraclePart, queries *queryPart, files *filesPart,
	hooks *webhooks.Webhooks,
) (part, error) {
	s := a.opt.Settings.USSD
	keys, err := keyring.PINsOf(a.res.db, &a.opt.Settings)
	if err != nil {
		return part{}, err
	}
	texts, err := telephonekit.NewTexts(telephonekit.TextDeps{
		DB: a.res.db, Keys: keys, Settings: a.opt.Settings.SMS, Name: a.opt.Settings.Oracle.Name,
		Public: a.opt.Settings.Server.PublicURL.Reveal(),
		Usual:  a.pages.Usual, Limiter: a.limits.telephone, Metrics: a.res.metrics, Log: a.opt.Log, Now: a.res.now,
		Quiet: &a.res.quiet,
	})
	if err != nil {
		return part{}, err
	}
	store := ussdsql.New(a.res.db).WithOutbox(a.res.outbox).WithTexts(texts.Outgoing()).
		WithKeys(identitysql.New(a.res.db), telephonekit.Standing(a.res.db))
	persons := ussdpeople.Persons{Links: store, Admit: a.standing}
	cfg := ussd.Config{
		Keys: keys, Menus: a.documents.menus.Value(), Limits: a.screens, Dialects: ussddialect.Names(a.dialects),
		NewKeyWait: s.NewKeyWait, TTL: s.SessionTTL, ResumeWindow: s.ResumeWindow, LanguageFirst: s.AskLanguage,
		Observer: ussdhttp.NewMetrics(a.res.metrics), Logger: a.opt.Log, Now: a.res.now, Webhooks: hooks,
		Quiet: &a.res.quiet,
	}
	var lists ussdlist.Lists
	if s.Lists != "" {
		lists.Folder = ussdlist.NewFolder(s.Lists, a.res.now)
	}
	if talking != nil {
		asked := telephonekit.Oracle{
			Talks: talking.talks, Approvals: talking.runs, Persons: persons, Key: a.opt.Settings.Identity.OracleKey,
			Questions: func() int64 { return a.allowances().questions },
		}
		cfg.Oracle, cfg.Approvals = asked, asked
		cfg.GuideOnly = a.documents.Models.Value().GuideOnly()
	}
	if queries != nil {
		cfg.LookUp = telephonekit.LookUp{
			Queries: queries.gateway, Prefix: telephonekit.OwnPrefix(a.opt.Settings.Query.Prefixes),
		}
	}
	if files != nil {
		lists.Documents = ussdlist.NewDocuments(telephonekit.NewTables(files.knowledge.Service), a.res.now, a.opt.Log)
		cfg.Knowledge = telephonekit.NewKnowledge(files.knowledge.Service, files.knowledge.Inquiries, persons, a.opt.Log)
	}
	cfg.Lists = lists
	svc, err := ussd.New(store, cfg)
	if err != nil {
		return part{}, err
	}
	accounts := ussdpeople.New(store, ussdpeople.Config{Keys: keys, Forget: a.conversations(talking), Now: a.res.now})
	newKeys := ussdkey.New(store, ussdkey.Config{
		Stands: telephonekit.Standing(a.res.db)(a.res.db.Read()), Bound: a.identity.KeysChanged, Now: a.res.now,
	})
	workers := texts.Workers(cfg.Oracle, store)
	workers["sessions"] = svc.Run
	if lists.Documents != nil {
		workers["lists"] = func(ctx context.Context) error { return telephonekit.ReadAhead(ctx, lists, a.documents.menus.Value) }
	}
	workers["menu"] = func(ctx context.Context) error { return svc.FollowMenus(ctx, a.documents.menus.Value) }
	return part{
		name: "ussd", writes: true,
		surfaces: []httpserver.Surface{
			ussdhttp.Surface(svc, a.gatewayDeps()),
			ussdhttp.Operators(svc, a.opt.Log),
			ussdformhttp.Surface(store), texts.Surface, telephonekit.MenuEditor(a.screens),
			ussdcounthttp.Surface(ussdcounthttp.Deps{
				Counts: svc.Counts, Begun: store.Begun, Totals: texts.Totals, Now: a.res.now,
			}),
			ussdpeoplehttp.Operators(accounts),
			ussdpeoplehttp.Persons(ussdpeoplehttp.PersonDeps{
				People: accounts, Authenticate: a.authenticated(identity.Oracle), CORS: a.openCORS(),
			}),
			ussdkeyhttp.Operators(newKeys),
			ussdkeyhttp.Persons(ussdkeyhttp.PersonDeps{
				Keys: newKeys, People: accounts, Authenticate: a.authenticated(identity.Entrance), CORS: a.openCORS(),
			}),
		},
		workers: workers,
		causes:  texts.Causes(),
	}, nil
}

// conversations are those of telephones, also where another node has the oracle.
func (a *App) conversations(talking *oraclePart) telephonekit.Conversations {
	if talking != nil {
		return telephonekit.Conversations{List: talking.chats.Sessions, Delete: talking.chats.DeleteSession}
	}
	kept := oraclesql.New(a.res.db)
	return telephonekit.Conversations{
		List: func(ctx context.Context, owner string, limit, offset int) ([]oracle.Session, int64, error) {
			if is, err := people.Migrated(ctx, a.res.db, oraclesql.Migrations()); err != nil || !is {
				return nil, 0, err // nobody has the oracle
			}
			return kept.Sessions(ctx, owner, limit, offset)
		},
		Delete: func(ctx context.Context, owner, id string) error {
			_, err := kept.DeleteSession(ctx, owner, id) // what runs there finds its session gone
			return err
		},
	}
}
