package app

import (
	"context"
	"errors"
	"log/slog"

	"github.com/castalia-org/castalia/internal/app/doorkit"
	"github.com/castalia-org/castalia/internal/app/people"
	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/identity/membership/membershiphttp"
	"github.com/castalia-org/castalia/internal/identity/membership/membershipsql"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// access is who may come in.
type access struct {
	doorkit.Access
	book *membership.Book
	door *membership.Door
	// quotas are what single people may have in place of what all may.
	quotas *membership.Quotas
}

// standing fails with Forbidden when nothing may be done any more in the name of
// somebody who shows no token now, as a linked telephone, a team chat or a plain link
// does: they may not come in, or all that they ever signed was withdrawn.
func (a *App) standing(ctx context.Context, did string) error {
	if err := a.access.door.AdmitDID(ctx, did); err != nil {
		return err
	}
	withdrawn, err := a.identity.CheckRevoked(ctx, []string{a.identity.KeyOf(did)})
	if err == nil && len(withdrawn) > 0 {
		err = fault.New(fault.Forbidden, "What they signed was withdrawn.").WithCode("withdrawn")
	}
	return err
}

// chooseAccess looks who may come in, and fails where somebody has to choose first.
func (a *App) chooseAccess(ctx context.Context) (err error) {
	s := &a.opt.Settings
	a.access.Before, err = doorkit.Choose(ctx, doorkit.Deps{
		DB: a.res.db, Settings: s.Access, Open: ownMachine(s.Server), Now: a.res.now, Log: a.opt.Log,
	})
	return err
}

// warnOpen says loudly when strangers may come in and nobody decided that.
func (a *App) warnOpen() {
	switch s := a.opt.Settings.Server; {
	case a.access.Mode() != membership.Open || a.access.Chosen():
	case !ownMachine(s):
		a.opt.Log.Warn("everybody who makes a key may come in and use the model, without a limit: set ACCESS to open, invite or closed", slog.String("event", "access.unlimited"))
	case !isLoopback(s.Host):
		a.opt.Log.Warn("others can reach this program, and everybody who makes a key may come in and use the model: set ACCESS=invite or closed, or HOST=127.0.0.1", slog.String("event", "access.exposed"))
	}
}

// Access says who may come in, for people.
func (a *App) Access() string {
	text := a.access.Mode().String()
	if a.access.Mode() == membership.Open && !isLoopback(a.opt.Settings.Server.Host) {
		text += " and can reach this machine (ACCESS=invite or closed changes that)"
	}
	return text
}

// openDoor makes what identity asks about those who proved who they are.
func (a *App) openDoor(ctx context.Context, serviceDID string) (err error) {
	if a.access.book, err = membership.NewBook(membershipsql.New(a.res.db), a.opt.Settings.Access.DIDs,
		a.res.now); err != nil {
		return errors.Join(errors.New("ACCESS_DIDS"), err)
	}
	a.access.door, err = membership.NewDoor(a.access.book, membership.Config{
		Mode: a.access.Mode, ServiceDID: serviceDID, Hints: a.res.bus, Logger: a.opt.Log,
		Head: a.res.heads.Of(membershipsql.DepartureFeed),
	})
	a.warnOpen()
	if err != nil {
		return err
	}
	a.access.quotas = membership.NewQuotas(a.access.book, a.res.bus, a.res.heads.Of(membershipsql.QuotaFeed), a.opt.Log)
	return a.access.quotas.Load(ctx)
}

func (a *App) membershipSurface() httpserver.Surface {
	return membershiphttp.Surface(membershiphttp.Deps{
		Book: a.access.book, Door: a.access.door, Failures: a.callerLimits(), CORS: a.openCORS(),
		Authenticate: identityhttp.WrapLimited(a.identity, identity.Entrance, a.callerLimits()),
	})
}

// What a user may have where the operator chose that strangers may come in, and
// did not say how much. Elsewhere there is no limit but one that is set.
const (
	openBytes     = 1 << 30
	openMessages  = 200
	openMicros    = 1_000_000 // a dollar
	openQuestions = 20
)

// allowances are the limits of each user, and of each telephone's; 0 is none.
type allowances struct {
	people.Limits
	questions int64
}

func (a *App) allowances() allowances {
	s, auto := a.opt.Settings, allowances{}
	if !ownMachine(s.Server) && a.access.Chosen() {
		auto.questions = openQuestions // anybody can dial, whoever else may come in
		if a.access.Mode() == membership.Open {
			auto.Bytes, auto.Messages, auto.CostMicros = openBytes, openMessages, openMicros
		}
	}
	return allowances{people.Limits{
		Bytes: s.Files.Quota.Or(auto.Bytes), Messages: s.Access.Messages.Or(auto.Messages),
		CostMicros: s.Access.Cost.Or(auto.CostMicros),
	}, s.Access.Questions.Or(auto.questions)}
}

// usual is what everybody may have, now.
func (a *App) usual() people.Limits { return a.allowances().Limits }

// Admissions opens the book of members for the command line, beside nodes that
// run or not.
func Admissions(ctx context.Context, opt Options, use func(*membership.Book) error) (err error) {
	r := &resources{log: opt.Log}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.openExisting(ctx, &opt.Settings, sqldb.Open); err != nil {
		return err
	}
	if err := r.db.Migrate(ctx, membershipsql.Migrations()); err != nil {
		return err
	}
	book, err := membership.NewBook(membershipsql.New(r.db), opt.Settings.Access.DIDs, nil)
	if err != nil {
		return err
	}
	return use(book)
}
