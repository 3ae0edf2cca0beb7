// Package queryhttp serves the query gateway over HTTP.
//
// The paths come from the chains' descriptors and change with them, so that
// the surface is a dynamic one: it claims first path segments. It adds what
// HTTP knows beside a body: conditional requests, compression, caching headers,
// the gate of the deployment, and errors as gRPC status JSON.
package queryhttp

import (
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
	"github.com/castalia-org/castalia/internal/service/query"
	"github.com/castalia-org/castalia/plugin/strictjson"
)

// Options are what a deployment decides.
type Options struct {
	Gate Gate
	// Auth is needed when the gate takes UCANs.
	Auth Authenticator
	// Guesses counts wrong keys by client address; nil counts nothing.
	Guesses *ratelimit.Limiter
	// CORS is closed when zero.
	CORS httpserver.CORSPolicy
	// Metrics counts what the cache and the chains do; nil counts nothing.
	Metrics *telemetry.Metrics
}

// maxBody bounds the JSON body of the few methods that have one.
const maxBody = 1 << 20

// legacySince dates the deprecation of paths of older chain versions: they
// were never current here, so it is the day of the first release.
const legacySince = "@1794700800"

type handler struct {
	gateway *query.Gateway
	opt     Options
	gated   bool
	lasting *lasting
}

// Surface offers the gateway's routes, and its own state to the operator.
func Surface(g *query.Gateway, opt Options) (httpserver.Surface, error) {
	if opt.Gate.NeedsIdentity() && opt.Auth == nil {
		return httpserver.Surface{}, errors.New("query: the gate takes UCANs, and nothing verifies them")
	}
	h := &handler{gateway: g, opt: opt, gated: !opt.Gate.Open()}
	h.lasting = newLasting(h.gated)
	measure(g, opt.Metrics)
	dynamic := httpserver.Route{
		Method: http.MethodGet, Pattern: "/{protocol_prefix}/…", Summary: "Protocol queries", Tags: []string{"Protocol queries"},
		Auth: httpserver.Public, MaxBody: maxBody, Hidden: true, Handler: h.serve,
	}
	surface := httpserver.Surface{
		Name: "query",
		Doc: "Protocol queries: gRPC services of the configured chains over HTTP and JSON. " +
			"The routes follow the chains' own descriptions.",
		Errors: writeError,
		CORS:   opt.CORS,
		Routes: []httpserver.Route{
			{
				Method: http.MethodGet, Pattern: "/query/status", Summary: "Chains, nodes and cache of the query gateway",
				Tags: []string{"Protocol queries"}, Auth: httpserver.Operator, Quiet: true, Handler: h.status,
				Replies: []httpserver.Reply{{Status: http.StatusOK, Body: query.View{}}},
			},
			{
				Method: http.MethodGet, Pattern: "/query/routes", Summary: "Routes of the query gateway",
				Tags: []string{"Protocol queries"}, Auth: httpserver.Operator, Quiet: true, Handler: h.routes,
				Replies: []httpserver.Reply{{Status: http.StatusOK, Body: []query.RouteView{}}},
			},
		},
		Dynamic: &httpserver.Dynamic{Claims: g.Claims, Near: g.Near, Route: dynamic, Paths: g.OpenAPI, Version: g.Version},
	}
	if h.gated {
		// The gate is asked per route group, once the route is known.
		surface.Dynamic.Route.Auth = httpserver.Optional
		surface.Authenticate = func(next httpserver.Handler) httpserver.Handler { return next }
	}
	return surface, nil
}

// measure offers what the gateway counts by itself.
func measure(g *query.Gateway, m *telemetry.Metrics) {
	for name, read := range map[string]func(query.CacheStats) int64{
		"hits":      func(s query.CacheStats) int64 { return s.Hits },
		"misses":    func(s query.CacheStats) int64 { return s.Misses },
		"coalesced": func(s query.CacheStats) int64 { return s.Coalesced },
		"stale":     func(s query.CacheStats) int64 { return s.Stale },
		"evicted":   func(s query.CacheStats) int64 { return s.Evicted },
	} {
		m.CounterFunc("query_cache_"+name+"_total", "Replies of the query cache: "+name+".",
			func() float64 { return float64(read(g.CacheStats())) })
	}
	m.GaugeFunc("query_cache_bytes", "Bytes that the query cache holds.", func() float64 { return float64(g.CacheStats().Bytes) })
	m.GaugeFunc("query_ready", "1 when every chain has a node in step.", func() float64 {
		if g.Ready() != nil {
			return 0
		}
		return 1
	})
}

func (h *handler) status(w http.ResponseWriter, _ *http.Request) error {
	return httpserver.WriteJSON(w, http.StatusOK, h.gateway.View())
}

func (h *handler) routes(w http.ResponseWriter, _ *http.Request) error {
	return httpserver.WriteJSON(w, http.StatusOK, h.gateway.Routes())
}

// serve answers one query.
func (h *handler) serve(w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodOptions {
		if allow := h.gateway.Methods(r.URL.EscapedPath()); allow != "" {
			w.Header().Set("Allow", allow)
			w.WriteHeader(http.StatusNoContent)
			return nil
		}
	}
	found, err := h.gateway.Find(r.Method, r.URL.EscapedPath())
	if err != nil {
		return classify(w, err)
	}
	httpserver.SetPattern(r.Context(), found.Route.Template.String())
	if found.Successor != "" {
		w.Header().Set("Deprecation", legacySince)
		w.Header().Set("Link", "<"+found.Successor+`>; rel="successor-version"`)
	}
	if err := h.opt.Gate.check(r, found.Path, h.opt.Auth, h.opt.Guesses); err != nil {
		return err
	}
	ask := query.Ask{RawQuery: r.URL.RawQuery, Height: blockHeight(r.Header), Timeout: grpcTimeout(r.Header.Get("Grpc-Timeout"))}
	if found.Route.TakesBody() {
		if ask.Body, err = io.ReadAll(r.Body); err != nil {
			return fault.Wrap(fault.Invalid, "the body could not be read", err)
		}
		if err := strictjson.Count(ask.Body, httpserver.MaxValues(r.Context())); err != nil {
			return fault.Wrap(fault.Invalid, "the body has "+err.Error(), err)
		}
	}
	answer, err := h.gateway.Answer(r.Context(), found, ask)
	if err != nil {
		return classify(w, err)
	}
	defer answer.Close()
	return h.write(w, r, &answer)
}

// blockHeight reads the height header in both spellings.
func blockHeight(h http.Header) string {
	if v := h.Get("X-Cosmos-Block-Height"); v != "" {
		return v
	}
	return h.Get("Grpc-Metadata-X-Cosmos-Block-Height")
}

// grpcTimeout reads "500m": up to eight digits and a unit. 0 is none.
func grpcTimeout(text string) time.Duration {
	if len(text) < 2 || len(text) > 9 {
		return 0
	}
	units := map[byte]time.Duration{
		'H': time.Hour, 'M': time.Minute, 'S': time.Second, 'm': time.Millisecond, 'u': time.Microsecond,
		'n': time.Nanosecond,
	}
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 32)
	unit := units[text[len(text)-1]]
	if err != nil || unit == 0 || time.Duration(n) > math.MaxInt64/unit {
		return 0 // more than three hundred years is no limit either
	}
	return time.Duration(n) * unit
}

// Values of headers that many answers have, made once.
var (
	contentType = []string{"application/json"}
	gzipped     = []string{"gzip"}
	varyOpen    = []string{"X-Cosmos-Block-Height", "Grpc-Metadata-X-Cosmos-Block-Height", "Accept-Encoding"}
	varyGated   = append(slices.Clip(varyOpen), "Authorization", "X-Api-Key", "X-Ucan-Delegation", "X-Auth-Type")
	noCache     = []string{"no-cache"}
	states      = map[query.CacheState][]string{
		query.Bypass: {string(query.Bypass)}, query.Miss: {string(query.Miss)}, query.Hit: {string(query.Hit)},
		query.Stale: {string(query.Stale)},
	}
)

// write sends an answer, or 304 when the client has it.
func (h *handler) write(w http.ResponseWriter, r *http.Request, a *query.Answer) error {
	header := w.Header()
	header["Content-Type"] = contentType
	header["X-Cache"] = states[a.State]
	if a.PageLimit > 0 {
		header.Set("X-Page-Limit", strconv.FormatUint(a.PageLimit, 10))
	}
	header["Cache-Control"] = h.lasting.control(a)
	vary := varyOpen
	if h.gated {
		vary = varyGated
	}
	header["Vary"] = append(slices.Clip(vary), header["Vary"]...)
	body, lines := a.Body, query.Headers{}
	if e := a.Entry; e != nil {
		lines = e.Headers
		if httpserver.AcceptsEncoding(r.Header, "gzip") {
			if packed := e.Gzip(); packed != nil {
				body, lines = packed, e.PackedHeaders
				header["Content-Encoding"] = gzipped
			}
		}
		header["Etag"] = lines.Tag
	} else {
		values := [...]string{strconv.Itoa(len(body)), strconv.FormatInt(a.Height, 10)}
		lines.Length, lines.Height = values[0:1:1], values[1:2:2]
	}
	if a.Height > 0 {
		header["X-Cosmos-Block-Height"] = lines.Height
		header["Grpc-Metadata-X-Cosmos-Block-Height"] = lines.Height
	}
	if e := a.Entry; e != nil && matches(r.Header["If-None-Match"], e.ETag) {
		header.Del("Content-Encoding")
		header.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	header["Content-Length"] = lines.Length
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	_, err := w.Write(body)
	return err
}

// lasting says for how long replies hold: one at a fixed height for ever, one
// on the newest state until the next block.
type lasting struct {
	scope  string
	pinned []string
	ages   [60][]string // by seconds
}

func newLasting(gated bool) *lasting {
	l := &lasting{scope: "public"}
	if gated {
		l.scope = "private"
	}
	l.pinned = []string{l.scope + ", max-age=31536000, immutable"}
	for seconds := range l.ages {
		l.ages[seconds] = l.age(seconds)
	}
	l.ages[0] = noCache
	return l
}

func (l *lasting) age(seconds int) []string {
	return []string{l.scope + ", max-age=" + strconv.Itoa(seconds)}
}

// control is the Cache-Control of an answer.
func (l *lasting) control(a *query.Answer) []string {
	switch seconds := int(a.MaxAge / time.Second); {
	case a.State == query.Stale:
		return noCache
	case a.Pinned:
		return l.pinned
	case seconds < len(l.ages):
		return l.ages[max(seconds, 0)]
	default:
		return l.age(seconds)
	}
}

func matches(lines []string, tag string) bool {
	for _, line := range lines {
		for item := range strings.SplitSeq(line, ",") {
			item = strings.TrimPrefix(strings.TrimSpace(item), "W/")
			if item == "*" || strings.TrimSuffix(strings.Trim(item, `"`), query.PackedMark) == tag {
				return true
			}
		}
	}
	return false
}

// classify wraps a status in the fault that it amounts to, so that the server
// logs it at the right level.
func classify(w http.ResponseWriter, err error) error {
	var status *query.StatusError
	if !errors.As(err, &status) {
		return err
	}
	if status.Allow != "" {
		w.Header().Set("Allow", status.Allow)
	}
	f := fault.Wrap(status.Kind(), status.Message, status)
	if f.Kind == fault.RateLimited || f.Kind == fault.Unavailable {
		f = f.WithRetryAfter(time.Second)
	}
	return f
}

// writeError sends a gRPC status as gateways do.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	var status *query.StatusError
	if !errors.As(err, &status) {
		writeFault(w, err)
		return
	}
	header := w.Header()
	httpserver.SetRetryAfter(header, fault.From(err))
	header["Content-Type"] = contentType
	header.Set("Cache-Control", "no-store")
	header.Del("Etag")
	header.Del("Content-Encoding")
	w.WriteHeader(status.HTTPStatus())
	_, _ = w.Write(status.JSON())
}
