package app

import (
	"log/slog"

	"github.com/castalia-org/castalia/internal/platform/config"
)

// localOperator reports whether a direct peer on this machine is an operator. In
// any environment that is not known to be somebody's own machine nobody is by
// address: a proxy on the same machine would make everybody one.
func localOperator(s config.Server) bool {
	return s.Environment == "development" || s.Environment == "test"
}

// sayIfClosed tells whoever starts the program that its operators' routes answer
// nobody, and how to open them.
func (a *App) sayIfClosed() {
	s := a.opt.Settings.Server
	if s.OperatorToken.Reveal() == "" && !localOperator(s) {
		a.opt.Log.Warn("operator routes are closed: set OPERATOR_TOKEN (such as `openssl rand -hex 16` prints) and send it as a bearer",
			slog.String("environment", s.Environment))
	}
}
