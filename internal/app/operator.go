package app

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/identity/identitysql"
	"github.com/castalia-org/castalia/internal/identity/operators"
	"github.com/castalia-org/castalia/internal/identity/operators/operatorshttp"
	"github.com/castalia-org/castalia/internal/identity/operators/operatorssql"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// ownMachine reports whether the environment is known to be somebody's own
// machine. In every other one, however it is written, nobody is an operator by
// address, since a proxy on the same machine would make everybody one, and the
// operator has to choose who may come in.
func ownMachine(s config.Server) bool {
	return s.Environment == "development" || s.Environment == "test"
}

// sayIfClosed tells whoever starts the program that its operators' routes answer
// nobody, and how to open them.
func (a *App) sayIfClosed() {
	s := a.opt.Settings.Server
	if s.OperatorToken.Reveal() == "" && !ownMachine(s) {
		a.opt.Log.Warn("operator routes are closed but to DIDs with a role: open a link of `castalia setup-link`, or set OPERATOR_TOKEN (such as `openssl rand -hex 16` prints) and send it as a bearer", slog.String("event", "operator.closed"),
			slog.String("environment", s.Environment))
	}
}

// operatorRoles are the DIDs that run the deployment.
type operatorRoles struct {
	book *operators.Book
	// signed says who signed a request; it is there once identity is built.
	signed func(*http.Request) (httpserver.OperatorIdentity, error)
}

// signedOperator is asked by the server, which is made before identity is and answers
// after it.
func (a *App) signedOperator(r *http.Request) (httpserver.OperatorIdentity, error) {
	return a.roles.signed(r)
}

// openRoles makes the book of operators and its routes. Whoever gets a role becomes a
// member too, else an owner could not talk with the own oracle.
func (a *App) openRoles() httpserver.Surface {
	book := operators.NewBook(operatorssql.New(a.res.db), a.res.now)
	a.roles = operatorRoles{book: book, signed: operatorshttp.Signed(a.identity, book)}
	return operatorshttp.Surface(operatorshttp.Deps{
		Book: book, CORS: a.openCORS(), Guessed: a.callerLimits().Guessed, Audit: a.recordAct,
		Authenticate: identityhttp.WrapLimited(a.identity, identity.Entrance, a.callerLimits()),
		Welcome: func(ctx context.Context, did string) error {
			_, _, err := a.access.book.AddMember(ctx, did, "")
			return err
		},
	})
}

// SetupPath returns the path of a new setup link, for whoever has just started the
// program. It is "" where there is an owner already.
func (a *App) SetupPath(ctx context.Context) (string, error) {
	if has, err := a.roles.book.HasOwner(ctx); err != nil || has {
		return "", err
	}
	code, _, err := a.roles.book.NewLink(ctx)
	return operatorshttp.SetupPath + code, err
}

// OperatorRoles opens the book of operators for the command line, beside nodes that
// run or not.
func OperatorRoles(ctx context.Context, opt Options, use func(*operators.Book) error) (err error) {
	r := &resources{log: opt.Log}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.openExisting(ctx, &opt.Settings, sqldb.Open); err != nil {
		return err
	}
	if err := r.db.Migrate(ctx, identitysql.Migrations()); err != nil {
		return err
	}
	return use(operators.NewBook(operatorssql.New(r.db), nil))
}
