package app

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"

	"github.com/castalia-org/castalia/internal/app/agentkit"
	"github.com/castalia-org/castalia/internal/app/keyring"
	"github.com/castalia-org/castalia/internal/app/knowledgekit"
	"github.com/castalia-org/castalia/internal/app/people"
	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/appkey"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeyhttp"
	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/blockstore"
	"github.com/castalia-org/castalia/internal/service/filestore/carimport"
	"github.com/castalia-org/castalia/internal/service/filestore/contenthttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoredav"
	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoremcp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
	"github.com/castalia-org/castalia/internal/service/filestore/folder"
	"github.com/castalia-org/castalia/internal/service/filestore/ipfsgateway"
	"github.com/castalia-org/castalia/internal/service/filestore/plainlink/plainlinkhttp"
	"github.com/castalia-org/castalia/internal/service/filestore/search"
	"github.com/castalia-org/castalia/internal/service/filestore/upkeep"
)

// changedFiles is the subject under which nodes tell each other that a
// namespace has new changes.
const changedFiles = "files.changed"

// filesPart is the file store, with what the oracle uses of it.
type filesPart struct {
	part
	// mcp has the files' tools alone, for the oracle.
	http, mcp httpserver.Surface
	// agents is the address for agents, with the oracle where this node has it.
	agents    func(*oraclePart) httpserver.Surface
	knowledge *knowledgekit.Kit
	service   *filestore.Service
	folders   *folder.Service
}

// What the requests of one namespace hold of answers at a time, and how many searches and
// comparisons of its files run at least; with more cores than four these are half of them.
const (
	filesHeld = 32 << 20
	filesWork = 2
)

// buildFiles makes the file store.
func (a *App) buildFiles(ctx context.Context) (*filesPart, error) {
	svc, err := newFiles(ctx, a.res, a.opt, filestore.Config{
		QuotaOf: people.BytesOf(a.access.quotas, a.usual),
	})
	if err != nil {
		return nil, err
	}
	know, err := a.buildKnowledge(ctx, svc)
	if err != nil {
		return nil, err
	}
	records := filestoresql.New(a.res.db).WithOutbox(a.res.outbox)
	folders := folder.New(svc, records)
	holdings := ratelimit.NewHoldings(filesHeld, max(filesWork, runtime.GOMAXPROCS(0)/2))
	p := &filesPart{
		knowledge: know, service: svc, folders: folders,
		http: filestorehttp.Surface(svc, filestorehttp.Deps{ //nolint:contextcheck // handlers use their request's own context
			Folders: folders, Import: carimport.New(svc, folders, records), Authenticate: a.authenticated(identity.Files),
			CORS: contenthttp.CORS(a.origins()), Looks: a.opt.Documents, Holdings: holdings,
		}),
	}
	agents := filestoremcp.Deps{
		Folders: folders, Authenticate: a.authenticated(identity.MCP), CORS: contenthttp.CORS(a.origins()),
		BehindProxy: a.opt.Settings.Server.TrustProxy,
		Version:     a.opt.Version, More: know.Tools, Holdings: holdings,
	}
	p.mcp = filestoremcp.Surface(svc, agents)
	p.agents = func(o *oraclePart) httpserver.Surface {
		agents.Authenticate = a.faces.WrapAgents
		if o != nil {
			agents.Part = agentkit.Part{Face: o.agents}
		}
		return filestoremcp.Surface(svc, agents)
	}
	p.part = part{
		name: "filestore", writes: true,
		surfaces: []httpserver.Surface{
			p.http, filestoredav.Surface(svc, filestoredav.Deps{
				Authenticate: a.faces.Wrap(appkey.Files), Folders: folders, State: records,
				Security: appkeyhttp.Schemes(),
			}),
			plainlinkhttp.Surface(svc, plainlinkhttp.Deps{
				Folders: folders, Admit: a.standing, Pages: a.pages,
			}), ipfsgateway.Surface(svc, ipfsgateway.Deps{
				Blocks: blockstore.New(svc, records), Authenticate: a.faces.WrapKeys(appkey.Files, a.authenticated(identity.Files)),
				CORS: contenthttp.CORS(a.origins()),
			}),
		},
		workers: map[string]func(context.Context) error{
			"index": search.New(svc).WithQuiet(&a.res.quiet).RunIndexer, "sweep": upkeep.New(svc).RunSweeper,
			"wake": func(ctx context.Context) error { return wakeFiles(ctx, a.res.bus, svc) },
		},
	}
	return p, nil
}

// newFiles makes the service alone, for the server with quotas and for maintenance without.
func newFiles(ctx context.Context, r *resources, opt Options, cfg filestore.Config) (*filestore.Service, error) {
	keys, err := keyring.FilesOf(r.db, &opt.Settings)
	if err != nil {
		return nil, err
	}
	cfg.MasterKey, cfg.OldKeys, cfg.InForce = keys.Current, keys.Old, keys.InForce
	cfg.MaxUpload = int64(opt.Settings.Files.MaxUpload)
	hintCtx := context.WithoutCancel(ctx) // hints go out as long as the service lives
	return filestore.New(filestore.Deps{
		Store: filestoresql.New(r.db).WithOutbox(r.outbox), Blobs: r.blobs, Logger: opt.Log, Now: r.now, Short: r.short,
		Hint: func(namespace string) {
			if err := r.bus.Publish(hintCtx, changedFiles, []byte(namespace)); err != nil {
				opt.Log.Debug("other nodes were not told of a change", slog.Any("error", err))
			}
		},
	}, cfg), nil
}

// wakeFiles passes other nodes' hints on to those who wait for changes.
func wakeFiles(ctx context.Context, hints bus.Bus, svc *filestore.Service) error {
	sub, err := hints.Subscribe(changedFiles, func(m bus.Message) { svc.Wake(string(m.Data)) })
	if err != nil {
		return fmt.Errorf("hear of changed files: %w", err)
	}
	<-ctx.Done()
	return sub.Unsubscribe()
}
