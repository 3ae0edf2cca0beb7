package app

import (
	"log/slog"

	"github.com/castalia-org/castalia/internal/platform/config"
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
		a.opt.Log.Warn("operator routes are closed: set OPERATOR_TOKEN (such as `openssl rand -hex 16` prints) and send it as a bearer",
			slog.String("environment", s.Environment))
	}
}
