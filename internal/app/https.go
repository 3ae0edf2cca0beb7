package app

import (
	"context"

	"github.com/castalia-org/castalia/internal/app/addresskit"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// buildHTTPS opens the port of HTTPS where there are names for it, and keeps their
// certificates.
func (a *App) buildHTTPS(ctx context.Context) (part, error) {
	workers, watched, err := a.address.Open(ctx, addresskit.Deps{
		Settings: a.opt.Settings.Server, Key: a.opt.Settings.Identity.OracleKey, DB: a.res.db, Leases: a.res.leases,
		Secure: a.server.Secure, Log: a.opt.Log,
	})
	return part{name: "https", surfaces: []httpserver.Surface{a.address.Surface()}, workers: workers, causes: watched}, err
}

// Secure is where people open the program by HTTPS; empty where it does not serve it.
func (a *App) Secure() string { return a.address.Secure() }

// publicURL is where clients reach this deployment, now.
func (a *App) publicURL() string {
	if a.address.Now == nil { // it answers nobody yet
		return ""
	}
	return a.address.Now.Value().Base()
}
