package app

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/castalia-org/castalia/internal/app/causes"
	"github.com/castalia-org/castalia/internal/app/keysleft"
	"github.com/castalia-org/castalia/internal/app/probe"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/trouble"
)

// probed is what platforms may ask about this node, as long as it waits.
func (a *App) probed() probe.Node {
	s := a.opt.Settings
	return probe.Node{
		Name:        func() string { return s.Oracle.Name },
		Environment: s.Server.Environment, Version: a.opt.Version, Started: a.started,
		CORS: a.openCORS(), Limiter: a.limits.telephone,
	}
}

func (a *App) healthSurface() httpserver.Surface {
	n := a.probed()
	n.Ping, n.Ready, n.Name = a.res.db.Ping, a.readiness, a.documents.name.Value
	return n.Surface()
}

func (a *App) operatorSurface() httpserver.Surface {
	metrics := a.res.metrics.Handler()
	return httpserver.Surface{
		Name: "operator",
		Routes: []httpserver.Route{{
			Method: http.MethodGet, Pattern: "/metrics", Auth: httpserver.Operator, Tags: []string{"Operators"}, Quiet: true,
			Summary: "Metrics", Doc: "Prometheus text format.",
			Replies: []httpserver.Reply{{Status: 200, Media: "text/plain"}},
			Handler: func(w http.ResponseWriter, r *http.Request) error {
				metrics.ServeHTTP(w, r)
				return nil
			},
		}},
	}
}

// readiness says whether this node should get traffic, and what is not ready.
func (a *App) readiness(ctx context.Context) probe.Readiness {
	body := probe.Readiness{Ready: true, Checks: map[string]string{}}
	check := func(name string, err error, alone bool) {
		body.Checks[name] = "ok"
		if err != nil {
			body.Ready, body.Checks[name] = body.Ready && alone, "not ready"
		}
	}
	away := a.res.db.Ping(ctx)
	check("database", away, false)
	var stuck error
	if why := a.stuck(); why != nil {
		stuck = why
	}
	check("writes", stuck, !slices.ContainsFunc(a.parts, func(p part) bool { return p.writes }))
	if a.res.room != nil {
		body.Checks["storage"] = "ok"
		if a.res.room.Full() {
			body.Ready, body.Checks["storage"] = false, "full"
		}
	}
	if a.res.ship != nil {
		body.Checks["replica"] = a.res.ship.Ready()
	}
	if a.res.db.Stats().Short { // slower, and still serving
		body.Checks["connections"] = "PostgreSQL has no more of them"
	}
	for _, p := range a.parts {
		switch {
		case p.ready != nil:
			check(p.name, p.ready(ctx), p.alone)
		case p.writes:
			check(p.name, errors.Join(away, stuck), p.alone)
		}
	}
	if !a.server.Ready() {
		body.Ready, body.Checks["server"] = false, "draining"
	}
	return body
}

// stuck says why writes do not go through, or nil.
func (a *App) stuck() *trouble.Trouble {
	if why := a.pulse.Trouble(); why != "" {
		return trouble.New(why, nil)
	}
	return nil
}

// watchCauses gathers what can be wrong with this node.
func (a *App) watchCauses(ctx context.Context) *causes.Watch {
	all := []causes.Part{causes.Database(a.res.db.Ping, a.stuck, func() bool { return a.res.db.Stats().Short })}
	if a.res.room != nil {
		all = append(all, causes.Storage(a.res.room.Full))
	}
	all = append(all, keysleft.Causes(ctx, a.res.db, &a.opt.Settings, a.serves, a.opt.Log))
	for _, p := range a.parts {
		if p.causes != nil {
			all = append(all, *p.causes)
		}
	}
	return causes.New(all, a.res.now)
}
