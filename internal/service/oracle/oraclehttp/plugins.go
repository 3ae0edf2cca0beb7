package oraclehttp

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/pluginhttp"
)

// maxPluginBody bounds the body of a plugin's route that sets no bound itself.
const maxPluginBody = 256 << 10

// pluginRoutes collects the routes of the plugins and the patterns that they
// declare public.
func (a *api) pluginRoutes(taken []httpserver.Route) ([]httpserver.Route, []plugin.RoutePattern, error) {
	owners := map[string]string{}
	for _, r := range taken {
		owners[r.Method+" "+shape(r.Pattern)] = "the oracle"
	}
	var (
		routes []httpserver.Route
		public []plugin.RoutePattern
	)
	if a.deps.Plugins == nil {
		return nil, nil, nil
	}
	for _, l := range a.deps.Plugins.Loaded() {
		if p, ok := l.Plugin.(plugin.PublicRouteProvider); ok {
			public = append(public, p.PublicRoutes()...)
		}
		p, ok := l.Plugin.(pluginhttp.RouteProvider)
		if !ok {
			continue
		}
		for _, r := range p.Routes() {
			key := r.Method + " " + shape(r.Pattern)
			if first, twice := owners[key]; twice {
				return nil, nil, fmt.Errorf("plugin %s: route %s %s is already %s's", l.Name, r.Method, r.Pattern, first)
			}
			if r.Handler == nil || r.Method == "" || !strings.HasPrefix(r.Pattern, "/") {
				return nil, nil, fmt.Errorf("plugin %s: route %q %q needs a method, a path and a handler", l.Name, r.Method, r.Pattern)
			}
			owners[key] = l.Name
			routes = append(routes, a.pluginRoute(l.Name, l.Manifest.Title, r))
		}
	}
	return routes, public, nil
}

func (a *api) pluginRoute(owner, title string, r pluginhttp.Route) httpserver.Route {
	out := httpserver.Route{
		Method: r.Method, Pattern: r.Pattern, Summary: r.Summary, Doc: r.Doc, Tags: []string{title},
		Auth: httpserver.Principal,
		Body: r.Body, MaxBody: r.MaxBody, Example: r.Example,
	}
	if out.MaxBody == 0 {
		out.MaxBody = maxPluginBody
	}
	if r.Page {
		out.Limit = httpserver.LimitPages
	}
	for _, p := range r.Params {
		out.Params = append(out.Params, httpserver.Param{
			Name: p.Name, In: p.In, Required: p.Required, Schema: p.Schema, Doc: p.Doc,
		})
	}
	for _, p := range r.Replies {
		out.Replies = append(out.Replies, httpserver.Reply{Status: p.Status, Body: p.Body, Doc: p.Doc})
	}
	out.Handler = func(w http.ResponseWriter, req *http.Request) error {
		return r.Handler(w, pluginhttp.WithBaseURL(req, httpserver.PublicBase(req)), a.runtime(req))
	}
	out.Handler = a.gated(out, owner)
	if r.InPerson { // ADR 0239
		out.Handler = personally(out.Handler)
	}
	out.Handler = a.counted(out.Handler)
	return out
}

// personally serves those who signed the request's own token. A delegation alone may be in
// other hands, and ends; what such a route makes does not end with it.
func personally(next httpserver.Handler) httpserver.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if who, ok := identity.FromContext(r.Context()); !ok || !who.InPerson() {
			return fault.New(fault.Forbidden, "This needs an invocation that you sign; a delegation alone is not enough.").WithCode("invocation_needed")
		}
		return next(w, r)
	}
}

// counted bounds how many wrong secrets one address may try at routes that
// check one of their own: whoever is not authenticated and gets a 401 has tried
// one. The right secret is served whatever was tried before, so that nobody can
// shut out those who share an address.
func (a *api) counted(next httpserver.Handler) httpserver.Handler {
	if a.deps.Guesses == nil {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request) error {
		err := next(w, r)
		if _, known := identity.FromContext(r.Context()); known {
			return err
		}
		if e, ok := errors.AsType[*plugin.Error](err); ok && e.Status == http.StatusUnauthorized {
			if refusal := a.deps.Guesses.Guessed(r.Context()); refusal != nil && r.Header.Get("Authorization") != "" {
				return refusal
			}
		}
		return err
	}
}

// runtime is what a plugin knows of a request.
func (a *api) runtime(r *http.Request) *plugin.Runtime {
	who, _ := identity.FromContext(r.Context())
	return a.deps.Worker.Runtime(r.Context(), turn.Scene{
		Owner: who.DID, RequestID: httpserver.RequestID(r.Context()), Brought: who.Brought(),
		Request: oracle.TurnRequest{Timezone: r.Header.Get("X-Timezone"), HomeServer: r.Header.Get("X-Matrix-Homeserver")},
	})
}

// Gated puts the plugins' gates in front of another surface of the oracle's, such
// as its calls. Whatever surface the oracle has is put behind them when it is
// mounted, reading and hanging up included, so that nobody has to remember it; a
// route that must stay open is named by the plugin that gates. A system test goes
// through all routes of /docs-json.
func Gated(d Deps, s httpserver.Surface) httpserver.Surface {
	a := &api{deps: d}
	s.Routes = slices.Clone(s.Routes)
	for i := range s.Routes {
		s.Routes[i].Handler = translated(a.gated(s.Routes[i], ""))
	}
	return s
}

// Gate asks the plugins' gates about requests of a route that the oracle does not serve
// itself.
func Gate(d Deps, route httpserver.Route) func(r *http.Request) error {
	ask := (&api{deps: d}).gate(route, "")
	return func(r *http.Request) error {
		if err := ask(r); err != nil {
			return fromPlugin(err)
		}
		return nil
	}
}

// gated asks the plugins' gates before a handler.
func (a *api) gated(route httpserver.Route, owner string) httpserver.Handler {
	next, ask := route.Handler, a.gate(route, owner)
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := ask(r); err != nil {
			return err
		}
		return next(w, r)
	}
}

// gate is the plugins' gates of a route. Public requests have no caller and pass.
func (a *api) gate(route httpserver.Route, owner string) func(r *http.Request) error {
	var gates []plugin.Gate
	if a.deps.Plugins != nil {
		for _, l := range a.deps.Plugins.Loaded() {
			if g, ok := l.Plugin.(plugin.Gate); ok {
				gates = append(gates, g)
			}
		}
	}
	return func(r *http.Request) error {
		who, ok := identity.FromContext(r.Context())
		if !ok || len(gates) == 0 {
			return nil
		}
		g := plugin.GateRequest{
			UserDID: who.DID, Method: r.Method, Pattern: route.Pattern, Path: r.URL.Path, Plugin: owner, Runtime: a.runtime(r),
		}
		for _, gate := range gates {
			err := pace.Guard(func() error { return gate.Gate(r.Context(), g) }) //nolint:contextcheck // the request has it
			if err == nil {
				continue
			}
			if _, refused := errors.AsType[*plugin.Error](err); refused {
				return err
			}
			// A gate that does not work must not let everybody in.
			a.deps.Log.Error("a plugin's gate failed", slog.String("event", "plugin.gate_failed"), slog.Any("error", err), pace.Stack(err))
			return fault.Wrap(fault.Unavailable, "The request could not be checked. Please try again.", err)
		}
		return nil
	}
}

// shape is a pattern without the names of its variables.
func shape(pattern string) string {
	parts := strings.Split(strings.TrimPrefix(pattern, "/"), "/")
	for i, p := range parts {
		switch {
		case strings.HasPrefix(p, "{") && strings.HasSuffix(p, "...}"), p == "*", p == "(.*)":
			parts[i] = "**"
		case strings.HasPrefix(p, "{"), strings.HasPrefix(p, ":"):
			parts[i] = "*"
		}
	}
	return "/" + strings.Join(parts, "/")
}

// matchesAny reports whether a route is one of the patterns.
func matchesAny(list []plugin.RoutePattern, method, pattern string) bool {
	for _, p := range list {
		if p.Method != "" && !strings.EqualFold(p.Method, method) {
			continue
		}
		if want := shape(p.Path); want == shape(pattern) ||
			strings.HasSuffix(want, "/**") && strings.HasPrefix(shape(pattern), strings.TrimSuffix(want, "**")) {
			return true
		}
	}
	return false
}
