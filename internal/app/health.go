package app

import (
	"context"
	"net/http"
	"time"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// pingLimit bounds how long a health check waits for the database, so that a
// hanging one is reported, not waited for.
const pingLimit = time.Second

// landing is the body of GET /, the union of both documents' fields.
type landing struct {
	Status      string `json:"status"`
	Message     string `json:"message"`
	Environment string `json:"environment"`
	Timestamp   string `json:"timestamp"`
}

// health is the body of GET /health.
type health struct {
	Status      string  `json:"status"`
	Environment string  `json:"environment"`
	Timestamp   string  `json:"timestamp"`
	Uptime      float64 `json:"uptime"`
	Database    string  `json:"database"`
	Version     string  `json:"version"`
}

// readiness is the body of GET /ready.
type readiness struct {
	Ready  bool              `json:"ready"`
	Checks map[string]string `json:"checks"`
}

func (a *App) healthSurface() httpserver.Surface {
	return httpserver.Surface{
		Name: "app",
		CORS: a.openCORS(),
		Routes: []httpserver.Route{
			{
				Method: http.MethodGet, Pattern: "/", Auth: httpserver.Public, Limiter: a.limits.telephone, Tags: []string{"Health"},
				Summary: "Landing", Doc: "Says that the program runs. For platform probes.",
				Replies: []httpserver.Reply{{Status: 200, Body: landing{}}}, Handler: a.getLanding,
			},
			{
				Method: http.MethodGet, Pattern: "/health", Auth: httpserver.Public, Limiter: a.limits.telephone, Tags: []string{"Health"}, Quiet: true,
				Summary: "Health", Doc: "Asks the database. 503 with status degraded when it does not answer within a second.",
				Replies: []httpserver.Reply{{Status: 200, Body: health{}}, {Status: 503, Body: health{}}}, Handler: a.getHealth,
			},
			{
				Method: http.MethodGet, Pattern: "/ready", Auth: httpserver.Public, Tags: []string{"Health"}, Quiet: true,
				Summary: "Readiness", Doc: "Whether this node should get traffic: 503 while it starts, drains or misses something that it needs.",
				Replies: []httpserver.Reply{{Status: 200, Body: readiness{}}, {Status: 503, Body: readiness{}}}, Handler: a.getReady,
			},
		},
	}
}

func (a *App) operatorSurface() httpserver.Surface {
	metrics := a.res.metrics.Handler()
	return httpserver.Surface{
		Name: "operator",
		Routes: []httpserver.Route{{
			Method: http.MethodGet, Pattern: "/operator/plugins", Auth: httpserver.Operator, Tags: []string{"Operators"},
			Summary: "Plugins", Doc: "Which plugins are on, and why.",
			Replies: []httpserver.Reply{{Status: 200, Body: pluginList{}}}, Handler: a.getPlugins,
		}, {
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

func now() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }

func (a *App) getLanding(w http.ResponseWriter, _ *http.Request) error {
	return httpserver.WriteJSON(w, http.StatusOK, landing{
		Status: "ok", Message: a.opt.Settings.Oracle.Name + " is running",
		Environment: a.opt.Settings.Server.Environment, Timestamp: now(),
	})
}

func (a *App) getHealth(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), pingLimit)
	defer cancel()
	return a.writeHealth(w, a.res.db.Ping(ctx) == nil)
}

func (a *App) writeHealth(w http.ResponseWriter, connected bool) error {
	body := health{
		Status: "ok", Database: "connected", Environment: a.opt.Settings.Server.Environment,
		Timestamp: now(), Uptime: time.Since(a.started).Seconds(), Version: a.opt.Version,
	}
	status := http.StatusOK
	if !connected {
		body.Status, body.Database, status = "degraded", "disconnected", http.StatusServiceUnavailable
	}
	return httpserver.WriteJSON(w, status, body)
}

func (a *App) getReady(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), pingLimit)
	defer cancel()
	body := readiness{Ready: true, Checks: map[string]string{}}
	check := func(name string, err error) {
		body.Checks[name] = "ok"
		if err != nil {
			body.Ready, body.Checks[name] = false, "not ready"
		}
	}
	check("database", a.res.db.Ping(ctx))
	for _, p := range a.parts {
		if p.ready != nil {
			check(p.name, p.ready(ctx))
		}
	}
	if !a.server.Ready() {
		body.Ready, body.Checks["server"] = false, "draining"
	}
	status := http.StatusOK
	if !body.Ready {
		status = http.StatusServiceUnavailable
	}
	return httpserver.WriteJSON(w, status, body)
}
