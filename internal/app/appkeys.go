package app

import (
	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/appkey"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeyhttp"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeysql"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// appKeys makes what knows app keys, and how faces take them.
func (a *App) appKeys() (_ []httpserver.Surface, err error) {
	a.keys, err = appkey.New(appkey.Deps{
		Store: appkeysql.New(a.res.db), Identity: a.identity, Secret: a.opt.Settings.Identity.OracleKey, Logger: a.opt.Log,
		Now: a.res.now,
	})
	if err != nil {
		return nil, err
	}
	a.faces = appkeyhttp.Face{Keys: a.keys, Identity: a.identity, Limits: a.callerLimits()}
	return appkeyhttp.Surfaces(appkeyhttp.Deps{
		Service: a.keys, Face: a.faces, Authenticate: a.authenticated(identity.Oracle), CORS: a.openCORS(),
	}), nil
}
