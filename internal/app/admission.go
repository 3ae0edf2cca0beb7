package app

import (
	"context"
	"errors"
	"log/slog"

	"github.com/castalia-org/castalia/internal/app/people"
	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/identity/membership/membershiphttp"
	"github.com/castalia-org/castalia/internal/identity/membership/membershipsql"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// access is who may come in, as it was resolved at the start.
type access struct {
	mode membership.Mode
	// chosen says that the operator chose the mode, now or before.
	chosen bool
	book   *membership.Book
	door   *membership.Door
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

var errAccessNotChosen = errors.New("ACCESS: not given, and in production you choose who may come in: " +
	"ACCESS=open (everybody who makes a key), ACCESS=invite (whom you invite with `castalia invite`) or ACCESS=closed (whom you add with `castalia members add`)")

// chooseAccess decides who may come in. What the operator chose once holds until
// another choice is made, so that a setting that got lost opens nothing. A
// production deployment that nobody chose for does not start, unless it has users
// from before there was a choice.
func (a *App) chooseAccess(ctx context.Context) error {
	store, s := membershipsql.New(a.res.db), a.opt.Settings
	mode := membership.Mode(s.Access.Mode)
	if mode != "" {
		a.access = access{mode: mode, chosen: true}
		return store.Choose(ctx, mode, a.res.now())
	}
	mode, err := store.Choice(ctx)
	switch {
	case err != nil:
		return err
	case mode.Known():
		a.access = access{mode: mode, chosen: true}
		a.opt.Log.Info("ACCESS is not set: what was chosen before holds", slog.String("event", "access.kept"), slog.String("access", string(mode)))
		return nil
	case !ownMachine(s.Server):
		used, err := people.Any(ctx, a.res.db)
		if err != nil {
			return err
		}
		if !used {
			return errAccessNotChosen
		}
	}
	a.access = access{mode: membership.Open}
	return nil
}

// warnOpen says loudly when strangers may come in and nobody decided that.
func (a *App) warnOpen() {
	switch s := a.opt.Settings.Server; {
	case a.access.mode != membership.Open || a.access.chosen:
	case !ownMachine(s):
		a.opt.Log.Warn("everybody who makes a key may come in and use the model, without a limit: set ACCESS to open, invite or closed", slog.String("event", "access.unlimited"))
	case !isLoopback(s.Host):
		a.opt.Log.Warn("others can reach this program, and everybody who makes a key may come in and use the model: set ACCESS=invite or closed, or HOST=127.0.0.1", slog.String("event", "access.exposed"))
	}
}

// Access says who may come in, for people.
func (a *App) Access() string {
	text := a.access.mode.String()
	if a.access.mode == membership.Open && !isLoopback(a.opt.Settings.Server.Host) {
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
		Mode: a.access.mode, ServiceDID: serviceDID, Hints: a.res.bus, Logger: a.opt.Log,
	})
	a.warnOpen()
	if err != nil {
		return err
	}
	a.access.quotas = membership.NewQuotas(a.access.book, a.res.bus, a.opt.Log)
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
	if !ownMachine(s.Server) && a.access.chosen {
		auto.questions = openQuestions // anybody can dial, whoever else may come in
		if a.access.mode == membership.Open {
			auto.Bytes, auto.Messages, auto.CostMicros = openBytes, openMessages, openMicros
		}
	}
	return allowances{people.Limits{
		Bytes: s.Files.Quota.Or(auto.Bytes), Messages: s.Access.Messages.Or(auto.Messages),
		CostMicros: s.Access.Cost.Or(auto.CostMicros),
	}, s.Access.Questions.Or(auto.questions)}
}

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

// accessFinding is what the doctor says of it.
func accessFinding(ctx context.Context, r *resources, s config.Settings) (string, error) {
	store := membershipsql.New(r.db)
	mode, how := membership.Mode(s.Access.Mode), "by ACCESS"
	if mode == "" {
		var err error
		if mode, err = store.Choice(ctx); err != nil {
			return "", err
		}
		how = "as it was chosen before"
	}
	if mode == "" {
		mode, how = membership.Open, "since nobody chose"
	}
	n, err := store.CountMembers(ctx)
	if err != nil {
		return "", err
	}
	if n == 0 && len(s.Access.DIDs) == 0 && mode == membership.Closed {
		return "", errors.New("closed, and there is no member: nobody may come in")
	}
	return accessText(mode, how, n+int64(len(s.Access.DIDs))), nil
}
