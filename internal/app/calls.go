package app

import (
	"context"

	"github.com/castalia-org/castalia/internal/app/callkit"
	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesocket"
)

// newCalls makes live calls for the oracle. Recordings are uploads of the file
// store's; without one nothing is recorded.
func (a *App) newCalls(
	ctx context.Context, o *oraclekit.Oracle, gateway *oraclesocket.Gateway, access oraclekit.Access,
	uploads *httpserver.Surface,
) (*callkit.Calls, error) {
	s := a.opt.Settings
	signer, err := serviceSigner(s.Identity)
	if err != nil {
		return nil, err
	}
	return callkit.New(ctx, callkit.Deps{
		Settings: s.Calls, Host: s.Server.Host, Local: a.localCalls(), Node: a.res.node, OracleName: s.Oracle.Name,
		Signer: signer, Guard: a.identity, Oracle: o, Gateway: gateway, Access: access, Uploads: uploads,
		Speech: a.documents.InForce(), Works: a.documents.Speech,
		Authenticate: a.authenticated(identity.Oracle), CORS: a.openCORS(), Bus: a.res.bus, Metrics: a.res.metrics,
		Log: a.opt.Log,
	})
}

// localCalls reports whether callers may be on this machine: when the program listens on
// loopback, and when it is for itself on somebody's own machine. Anywhere else a stranger
// who calls could have it knock at what listens there.
func (a *App) localCalls() bool {
	s := &a.opt.Settings
	return isLoopback(s.Server.Host) || !s.Storage.Database.Given() && ownMachine(s.Server)
}
