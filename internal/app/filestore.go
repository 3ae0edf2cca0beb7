package app

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/protocol/seal"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoremcp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
)

// changedFiles is the subject under which nodes tell each other that a
// namespace has new changes.
const changedFiles = "files.changed"

// filesPart is the file store, with what the oracle uses of it.
type filesPart struct {
	part
	http, mcp httpserver.Surface
}

// buildFiles makes the file store.
func (a *App) buildFiles(ctx context.Context) (*filesPart, error) {
	svc, err := newFiles(ctx, a.res, a.opt, a.allowances().bytes)
	if err != nil {
		return nil, err
	}
	p := &filesPart{
		http: filestorehttp.Surface(svc, filestorehttp.Deps{ //nolint:contextcheck // handlers use their request's own context
			Authenticate: a.authenticated(identity.Files), CORS: httpserver.FilesCORS(a.origins()), BaseURL: a.opt.Settings.Server.PublicURL.Reveal(),
		}),
		mcp: filestoremcp.Surface(svc, filestoremcp.Deps{
			Authenticate: a.authenticated(identity.MCP), CORS: httpserver.FilesCORS(a.origins()), BehindProxy: a.opt.Settings.Server.TrustProxy,
			BaseURL: a.opt.Settings.Server.PublicURL.Reveal(), Version: a.opt.Version,
		}),
	}
	p.part = part{
		name:     "filestore",
		surfaces: []httpserver.Surface{p.http, p.mcp},
		workers: map[string]func(context.Context) error{
			"index": svc.RunIndexer, "sweep": svc.RunSweeper,
			"wake": func(ctx context.Context) error { return wakeFiles(ctx, a.res.bus, svc) },
		},
	}
	return p, nil
}

// newFiles makes the service alone, for the server and for maintenance. The
// quota is what a namespace may hold; 0 is no limit.
func newFiles(ctx context.Context, r *resources, opt Options, quota int64) (*filestore.Service, error) {
	s := opt.Settings.Files
	if len(s.MasterKey) != seal.KeySize {
		return nil, fmt.Errorf("FILES_MASTER_KEY: not given")
	}
	var old []seal.Key
	for _, key := range s.MasterKeysOld {
		old = append(old, seal.Key(key))
	}
	told := context.WithoutCancel(ctx) // hints go out as long as the service lives
	return filestore.New(filestore.Deps{
		Store: filestoresql.New(r.db), Blobs: r.blobs, Logger: opt.Log, Now: r.now,
		Hint: func(namespace string) {
			if err := r.bus.Publish(told, changedFiles, []byte(namespace)); err != nil {
				opt.Log.Debug("other nodes were not told of a change", slog.Any("error", err))
			}
		},
	}, filestore.Config{MasterKey: seal.Key(s.MasterKey), OldKeys: old, MaxUpload: int64(s.MaxUpload), Quota: quota}), nil
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
