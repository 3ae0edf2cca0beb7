package app

import (
	"context"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// build makes every part in the order in which they stand on each other.
func (a *App) build(_ context.Context) error {
	a.parts = append(a.parts, part{
		name:     "app",
		surfaces: []httpserver.Surface{a.healthSurface(), a.operatorSurface(), consoleSurface()},
	})
	return nil
}

func corsOrigins(a *App) string { return strings.Join(a.opt.Settings.Server.CORSOrigin, ",") }

// DID is the service's own name, the audience of every token.
func (a *App) DID() string { return a.opt.Settings.Identity.OracleDID }
