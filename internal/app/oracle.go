package app

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/castalia-org/castalia/internal/app/callkit"
	"github.com/castalia-org/castalia/internal/app/causes"
	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/appkey"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeyhttp"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/attachments"
	"github.com/castalia-org/castalia/internal/service/oracle/face/mcpface"
	"github.com/castalia-org/castalia/internal/service/oracle/instructions"
	"github.com/castalia-org/castalia/internal/service/oracle/mcpclient"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesocket"
	"github.com/castalia-org/castalia/internal/service/oracle/registry"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
)

// oraclePart is the oracle, with what the telephone uses of it.
type oraclePart struct {
	part
	talks  *turn.Turns
	runs   *run.Engine
	chats  *oracle.Service
	agents *mcpface.Face
	// plugins are those that are on.
	plugins *registry.Registry
}

// buildOracle makes the chat server with its plugins. It acts for users in the
// file store and asks the query gateway, where this node has them.
func (a *App) buildOracle(ctx context.Context, files *filesPart, queries *queryPart) (*oraclePart, error) {
	public, err := oraclekit.ParsePublic(a.opt.Settings.Server.AuthExcludedRoute)
	if err != nil {
		return nil, fmt.Errorf("AUTH_EXCLUDED_ROUTES: %w", err)
	}
	var offered oraclekit.Surfaces
	if files != nil {
		offered.FilesMCP, offered.Files = &files.mcp, &files.http
	}
	if queries != nil {
		offered.Query = &queries.surface
	}
	access, err := oraclekit.NewAccess(a.identity, offered)
	if err != nil {
		return nil, err
	}
	var suggest func(context.Context) ([]instructions.Opening, error)
	if files != nil {
		access.KnowledgeFor, suggest = files.knowledge.For, files.knowledge.Suggest
	}
	var (
		gateway *oraclesocket.Gateway
		calls   *callkit.Lines
	)
	o, err := oraclekit.New(oraclekit.Deps{
		DB: a.res.db, Blobs: a.res.blobs, Cold: a.cold, Outbox: a.res.outbox, Bus: a.res.bus, Leases: a.res.leases,
		Identity: a.identity, Provider: a.documents.InForce(),
		Instructions: a.documents.Instructions.Value, Suggest: suggest, Name: a.documents.name.Value,
		Oracle: oracle.Identity{
			Name: a.opt.Settings.Oracle.Name, DID: a.identity.DID(), EntityDID: a.opt.Settings.Identity.OracleEntityDID,
		},
		Plugins: a.opt.Plugins, Features: features(a.opt.Settings),
		Socket: func(owners oracle.SessionChecker) (oracle.Publisher, oracle.Dispatcher, error) {
			gateway = oraclesocket.New(oraclesocket.Deps{
				Guard: oraclesocket.NewGuard(a.identity), Sessions: owners, Bus: a.res.bus, Logger: a.opt.Log,
			}, oraclesocket.Config{
				Node: a.res.node, NodeURL: a.opt.Settings.Server.NodeURL.Reveal(),
				Alone: !a.opt.Settings.Storage.NATS.Given(), Events: a.limits.principal,
			})
			return gateway, gateway, nil
		},
		Attachments: attachments.New(attachments.Config{
			HomeServer: a.opt.Settings.Oracle.MatrixHomeserver.Reveal(), AllowPrivate: a.opt.Settings.Oracle.MatrixPrivate,
			Store: access.ReadFile, Documents: a.opt.Documents.Text, Log: a.opt.Log,
		}),
		Access: access, MCP: mcpclient.New(a.identity, a.opt.Log, mcpclient.Config{Version: a.opt.Version}),
		Authenticate: a.authenticated(identity.Oracle), Face: a.faces.Wrap(appkey.Oracle), FaceSecurity: appkeyhttp.Schemes(),
		CORS: a.openCORS(), Public: public,
		AgentWait: a.opt.Settings.Oracle.AgentWait, BaseURL: a.publicURL(),
		Measures: a.measures(), Budgets: a.keys, Admit: a.standing, Guesses: a.callerLimits(),
		SealKey:     a.opt.Settings.Identity.OracleKey,
		SessionGone: func(ctx context.Context, id string) { calls.SessionDeleted(ctx, id) },
		Run: run.Config{
			Node: a.res.node, Retention: a.opt.Settings.Oracle.FrameRetention,
			MaxRun: a.opt.Settings.Oracle.TurnTimeout, Patience: a.opt.Settings.Oracle.ApprovalTime,
		},
		Turn: turn.Config{ApproveMCP: a.opt.Settings.Oracle.ApproveMCP}, Log: a.opt.Log, Metrics: a.res.metrics,
		Now: a.res.now,
	})
	if err != nil {
		return nil, err
	}
	if calls, err = a.newCalls(ctx, o, gateway, access, offered.Files); err != nil {
		return nil, err
	}
	gateway.Measure(a.res.metrics)
	if files != nil {
		files.knowledge.TellPages(o.Store, gateway)
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	if err := o.StartPlugins(life); err != nil {
		end()
		return nil, errors.Join(err, calls.Close())
	}
	workers := map[string]func(context.Context) error{"sockets": gateway.Run, "calls": calls.Run}
	maps.Copy(workers, o.Workers())
	return &oraclePart{talks: o.Turns, runs: o.Engine, chats: o.Service, agents: o.Agents, plugins: o.Plugins, part: part{
		name: "oracle", writes: true,
		surfaces: append([]httpserver.Surface{o.Surface, gateway.Surface(a.openCORS()), calls.Surface}, o.Faces...),
		workers:  workers,
		causes:   &causes.Part{Name: "speech", Costly: true, Look: a.documents.Speech.Troubles},
		stop:     func() error { end(); return calls.Close() },
	}}, nil
}
