package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"github.com/castalia-org/castalia/internal/app/causes"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/trouble"
	"github.com/castalia-org/castalia/internal/service/query"
	"github.com/castalia-org/castalia/internal/service/query/localchain"
	"github.com/castalia-org/castalia/internal/service/query/queryhttp"
	"github.com/castalia-org/castalia/internal/service/query/upstream"
)

// queryPart is the query gateway, with what others use of it.
type queryPart struct {
	part
	gateway *query.Gateway
	surface httpserver.Surface
}

// buildQuery makes the protocol query gateway, over the nodes that the
// settings name or over the embedded one.
func (a *App) buildQuery(ctx context.Context) (*queryPart, error) {
	s := a.opt.Settings.Query
	gate, err := queryhttp.ParseGate(s.Auth.Reveal())
	if err != nil {
		return nil, fmt.Errorf("QUERY_AUTH: %w", err)
	}
	prefixes, err := query.ParsePrefixes(s.Prefixes)
	if err != nil {
		return nil, fmt.Errorf("QUERY_PREFIXES: %w", err)
	}
	chains, err := upstream.ParseTargets(s.Upstreams)
	if err != nil {
		return nil, fmt.Errorf("QUERY_UPSTREAMS: %w", err)
	}
	p := &queryPart{part: part{name: "query", workers: map[string]func(context.Context) error{}}}
	if len(chains) == 0 {
		local, err := localchain.New(ctx, localchain.Config{
			Seed:   filepath.Join(a.opt.Settings.Storage.Data, localchain.SeedFile),
			Oracle: a.ownOracle(a.publicURL()), Logger: a.opt.Log,
		})
		if err != nil {
			return nil, err
		}
		chains = append(chains, local.Upstream())
		p.workers["embedded chain"] = local.Run
	}
	var served []query.Chain
	var pools []*upstream.Pool
	p.stop = func() error {
		var errs []error
		for _, pool := range pools {
			errs = append(errs, pool.Close())
		}
		return errors.Join(errs...)
	}
	for _, chain := range chains {
		chain.Logger = a.opt.Log
		pool, err := upstream.New(ctx, chain)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("QUERY_UPSTREAMS: %w", err), p.stop())
		}
		pools, served = append(pools, pool), append(served, pool)
		p.workers["chain "+chain.Name] = pool.Run
	}
	p.gateway = query.New(served, query.Config{Prefixes: prefixes})
	p.surface, err = queryhttp.Surface(p.gateway, queryhttp.Options{
		Gate: gate, Auth: a.identity, Guesses: a.limits.guesses, Metrics: a.res.metrics,
		CORS: queryhttp.CORS(strings.Join(s.CORSOrigin, ",")),
	})
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	p.surfaces = []httpserver.Surface{p.surface}
	p.ready = func(context.Context) error { return p.gateway.Ready() }
	// Chains of others come and go. Our own is there as soon as the node is, and who
	// serves nothing else has nothing else to offer.
	p.alone = len(a.opt.Settings.Query.Upstreams) > 0 && len(a.opt.Services) > 1
	p.causes = &causes.Part{Name: "query", Needed: !p.alone, Look: func(context.Context) []*trouble.Trouble {
		return p.gateway.Troubles()
	}}
	return p, nil
}

// ownOracle is this program's oracle as the embedded chain shows it: where clients
// reach it, or else where other nodes do.
func (a *App) ownOracle(public string) localchain.Oracle {
	s := a.opt.Settings
	base := strings.TrimSuffix(cmp.Or(public, s.Server.NodeURL.Reveal()), "/")
	if base == "" {
		_, port, _ := net.SplitHostPort(a.Addr()) // what was taken: PORT may be 0
		base = "http://localhost:" + port
	}
	model := s.Oracle.Model
	if model == "" {
		model = s.Oracle.Provider
	}
	return localchain.Oracle{
		EntityDID: s.Identity.OracleEntityDID, ServiceDID: a.identity.DID(), Name: s.Oracle.Name,
		APIURL: base, SocketURL: "ws" + strings.TrimPrefix(base, "http"), Model: model, Price: "0", Currency: "IXO",
	}
}
