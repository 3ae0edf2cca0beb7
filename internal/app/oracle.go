package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/attachments"
	"github.com/castalia-org/castalia/internal/service/oracle/mcpclient"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesocket"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
)

// buildOracle makes the chat server with its plugins.
func (a *App) buildOracle(ctx context.Context) (part, error) {
	provider, err := a.modelProvider()
	if err != nil {
		return part{}, err
	}
	public, err := oraclekit.ParsePublic(a.opt.Settings.Server.AuthExcludedRoute)
	if err != nil {
		return part{}, fmt.Errorf("AUTH_EXCLUDED_ROUTES: %w", err)
	}
	access, err := oraclekit.NewAccess(a.identity, oraclekit.Surfaces{
		FilesMCP: a.surface("filestore", "/mcp"), Files: a.surface("filestore", "/api/fs/cid/{cid}"), Query: a.surface("query", ""),
	})
	if err != nil {
		return part{}, err
	}
	var (
		gateway *oraclesocket.Gateway
		calls   *lines
	)
	o, err := oraclekit.New(oraclekit.Deps{
		DB: a.res.db, Bus: a.res.bus, Leases: a.res.leases, Identity: a.identity, Provider: provider,
		Oracle:  oracle.Identity{Name: a.opt.Settings.Oracle.Name, DID: a.identity.DID(), EntityDID: a.opt.Settings.Identity.OracleEntityDID},
		Plugins: a.opt.Plugins, Features: features(a.opt.Settings),
		Socket: func(owners oracle.SessionChecker) (oracle.Publisher, oracle.Dispatcher, error) {
			gateway = oraclesocket.New(oraclesocket.Deps{
				Guard: oraclesocket.NewGuard(a.identity, a.callerLimits()), Sessions: owners, Bus: a.res.bus, Logger: a.opt.Log,
			}, oraclesocket.Config{
				Node: a.res.node, NodeURL: a.opt.Settings.Server.NodeURL.Reveal(),
				Alone: !a.opt.Settings.Storage.NATS.Given(), Events: a.limits.principal,
			})
			return gateway, gateway, nil
		},
		Attachments: attachments.New(attachments.Config{
			HomeServer: a.opt.Settings.Oracle.MatrixHomeserver.Reveal(), AllowPrivate: a.opt.Settings.Oracle.MatrixPrivate,
			Store: access.ReadFile, Documents: a.opt.Documents, Log: a.opt.Log,
		}),
		Access: access, MCP: mcpclient.New(a.identity, a.opt.Log, mcpclient.Config{Version: a.opt.Version}),
		Authenticate: a.authenticated(identity.Oracle), CORS: a.openCORS(), Public: public,
		Failures: a.callerLimits(), SealKey: a.opt.Settings.Identity.OracleKey,
		SessionGone: func(ctx context.Context, id string) { calls.SessionDeleted(ctx, id) },
		Run:         run.Config{Node: a.res.node, Retention: a.opt.Settings.Oracle.FrameRetention}, Log: a.opt.Log, Now: a.res.now,
	})
	if err != nil {
		return part{}, err
	}
	if calls, err = a.newCalls(ctx, o, gateway, access); err != nil {
		return part{}, err
	}
	a.meterSockets(gateway)
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	if err := o.StartPlugins(life); err != nil {
		end()
		return part{}, errors.Join(err, calls.Close())
	}
	a.talks = o.Turns
	workers := map[string]func(context.Context) error{"sockets": gateway.Run, "calls": calls.Run}
	maps.Copy(workers, o.Workers())
	return part{
		name:     "oracle",
		surfaces: []httpserver.Surface{o.Surface, gateway.Surface(a.openCORS()), calls.surface},
		workers:  workers,
		stop:     func() error { end(); return calls.Close() },
	}, nil
}

// surface finds what another service of this node serves: its surface with a
// route at the path, or its first one. Nil when the node does not have it.
func (a *App) surface(service, path string) *httpserver.Surface {
	for _, p := range a.parts {
		if p.name != service {
			continue
		}
		for _, s := range p.surfaces {
			if path == "" || slices.ContainsFunc(s.Routes, func(r httpserver.Route) bool { return r.Pattern == path }) {
				return &s
			}
		}
	}
	return nil
}

// meterSockets shows what the gateway holds.
func (a *App) meterSockets(g *oraclesocket.Gateway) {
	m := a.res.metrics
	m.GaugeFunc("sockets", "Sockets that follow a session on this node.", func() float64 { return float64(g.Stats().Sockets) })
	m.GaugeFunc("socket_rooms", "Sessions with a socket on this node.", func() float64 { return float64(g.Stats().Rooms) })
	m.GaugeFunc("socket_calls", "Calls that wait for a page of this node.", func() float64 { return float64(g.Stats().PendingCalls) })
	m.CounterFunc("socket_opened_total", "Engine.IO handshakes that succeeded.", func() float64 { return float64(g.Stats().Opened) })
	m.CounterFunc("socket_refused_total", "Engine.IO requests that were refused.", func() float64 { return float64(g.Stats().Refused) })
	m.CounterFunc("socket_overflowed_total", "Sockets that were cut because they read too slowly.", func() float64 { return float64(g.Stats().Overflowed) })
}
