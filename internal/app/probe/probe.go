// Package probe has the routes by which platforms look whether a node is well, and
// the first answer at `/`.
//
// They need no credential and say nothing but the state: which settings there are and what went
// wrong is for operators.
package probe

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
)

// pingLimit bounds how long a check waits, so that a hanging database is reported,
// not waited for.
const pingLimit = time.Second

// Landing is the body of GET /, the union of both documents' fields.
type Landing struct {
	Status      string `json:"status"`
	Message     string `json:"message"`
	Environment string `json:"environment"`
	Timestamp   string `json:"timestamp"`
}

// Health is the body of GET /health.
type Health struct {
	Status      string  `json:"status"`
	Environment string  `json:"environment"`
	Timestamp   string  `json:"timestamp"`
	Uptime      float64 `json:"uptime"`
	Database    string  `json:"database"`
	Version     string  `json:"version"`
}

// Readiness is the body of GET /ready.
type Readiness struct {
	Ready  bool              `json:"ready"`
	Checks map[string]string `json:"checks"`
}

// Node is what is asked.
type Node struct {
	// Name is asked for whenever somebody is told it.
	Name                 func() string
	Environment, Version string
	Started              time.Time
	// Ping asks the database, Ready everything that the node needs. They are nil
	// while the node waits for its database.
	Ping  func(context.Context) error
	Ready func(context.Context) Readiness
	CORS  httpserver.CORSPolicy
	// Limiter counts requests for / and /health by address.
	Limiter *ratelimit.Limiter
}

// Surface returns the routes.
func (n Node) Surface() httpserver.Surface {
	tags := []string{"Health"}
	return httpserver.Surface{
		Name: "app", CORS: n.CORS,
		Routes: []httpserver.Route{
			{
				Method: http.MethodGet, Pattern: "/", Auth: httpserver.Public, Limiter: n.Limiter, Tags: tags,
				Summary: "Landing", Doc: "Says that the program runs. For platform probes. A browser (`Accept: text/html`) is sent to the console.",
				Replies: []httpserver.Reply{{Status: 200, Body: Landing{}}, {Status: 302, Doc: "To the console."}}, Handler: n.landing,
			},
			{
				Method: http.MethodGet, Pattern: "/health", Auth: httpserver.Public, Limiter: n.Limiter, Tags: tags,
				Quiet: true, Kept: true,
				Summary: "Health", Doc: "Asks the database. 503 with status degraded when it does not answer within a second.",
				Replies: []httpserver.Reply{{Status: 200, Body: Health{}}, {Status: 503, Body: Health{}}}, Handler: n.health,
			},
			{
				Method: http.MethodGet, Pattern: "/ready", Auth: httpserver.Public, Tags: tags,
				Quiet: true, Kept: true,
				Summary: "Readiness", Doc: "Whether this node should get traffic: 503 while it starts, drains or misses something that it needs, also room on its disk (`storage`): then it reads and deletes, and stores nothing new. `writes` tells whether the database takes changes, by a small one of every few seconds.",
				Replies: []httpserver.Reply{{Status: 200, Body: Readiness{}}, {Status: 503, Body: Readiness{}}}, Handler: n.ready,
			},
			{
				Method: http.MethodGet, Pattern: "/ready/{part}", Auth: httpserver.Public, Tags: tags,
				Quiet: true, Kept: true,
				Summary: "Readiness of a part", Doc: "Whether this node should get requests for one of the parts that `checks` of `/ready` names, such as `query`: also a part that fails alone has its own answer.",
				Params: []httpserver.Param{{Name: "part", In: "path", Required: true, Doc: "Its name in `checks`."}},
				Replies: []httpserver.Reply{
					{Status: 200, Body: Readiness{}},
					{Status: 503, Body: Readiness{}},
					{Status: 404, Doc: "This node has no such part."},
				}, Handler: n.readyPart,
			},
		},
	}
}

func now() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }

// landing answers people with the console and everybody else as the documents say.
// While the node waits there is no console.
func (n Node) landing(w http.ResponseWriter, r *http.Request) error {
	w.Header().Add("Vary", "Accept")
	if n.Ready != nil && wantsPage(r.Header) {
		w.Header().Set("Location", "/console/")
		w.WriteHeader(http.StatusFound)
		return nil
	}
	return httpserver.WriteJSON(w, http.StatusOK, Landing{
		Status: "ok", Message: n.Name() + " is running", Environment: n.Environment, Timestamp: now(),
	})
}

// wantsPage reports whether a client names HTML among what it takes: browsers do when
// somebody opens an address; programs, probes and scripts of pages do not.
func wantsPage(h http.Header) bool {
	for _, line := range h.Values("Accept") {
		for part := range strings.SplitSeq(line, ",") {
			media, parameters, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(media), "text/html") {
				return !refused(parameters)
			}
		}
	}
	return false
}

// refused reports whether the parameters of a media type say q=0.
func refused(parameters string) bool {
	for p := range strings.SplitSeq(parameters, ";") {
		if q, ok := strings.CutPrefix(strings.ReplaceAll(p, " ", ""), "q=0"); ok && strings.Trim(q, ".0") == "" {
			return true
		}
	}
	return false
}

func (n Node) health(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), pingLimit)
	defer cancel()
	body := Health{
		Status: "ok", Database: "connected", Environment: n.Environment,
		Timestamp: now(), Uptime: time.Since(n.Started).Seconds(), Version: n.Version,
	}
	status := http.StatusOK
	if n.Ping == nil || n.Ping(ctx) != nil {
		body.Status, body.Database, status = "degraded", "disconnected", http.StatusServiceUnavailable
	}
	return httpserver.WriteJSON(w, status, body)
}

func (n Node) ready(w http.ResponseWriter, r *http.Request) error {
	return writeReadiness(w, n.look(r.Context()))
}

// readyPart answers for one part. A node that starts or drains should get no requests,
// whatever its parts can do.
func (n Node) readyPart(w http.ResponseWriter, r *http.Request) error {
	all, part := n.look(r.Context()), r.PathValue("part")
	server, away := all.Checks["server"]
	state, known := all.Checks[part]
	if !known && !away {
		return httpserver.NotFound(r)
	}
	body := Readiness{Ready: state == "ok" && !away, Checks: map[string]string{}}
	if known {
		body.Checks[part] = state
	}
	if away {
		body.Checks["server"] = server
	}
	return writeReadiness(w, body)
}

// look asks everything that the node needs, for a while.
func (n Node) look(ctx context.Context) Readiness {
	ctx, cancel := context.WithTimeout(ctx, pingLimit)
	defer cancel()
	if n.Ready == nil {
		return Readiness{Checks: map[string]string{"database": "not ready", "server": "starting"}}
	}
	return n.Ready(ctx)
}

func writeReadiness(w http.ResponseWriter, body Readiness) error {
	status := http.StatusOK
	if !body.Ready {
		status = http.StatusServiceUnavailable
	}
	return httpserver.WriteJSON(w, status, body)
}
