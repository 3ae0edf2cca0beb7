// Package oraclehttp is the oracle over HTTP: sessions, messages, runs, the
// stored delegation, models, and the routes that plugins bring.
//
// It promises the bodies and statuses that published clients rely on: every
// answer but a stream is JSON, every error has a numeric statusCode, an unknown
// session and a foreign one are the same 404 for every verb, and what can fail
// fails before a stream's headers are sent. It refuses bodies with fields that
// it does not know.
package oraclehttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/instructions"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/registry"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/plugin"
)

// maxMessage bounds a message body: real pages send 100 KiB of tool schemas.
const maxMessage = 1 << 20

// Delegations keeps what users granted the oracle: identity.Service.
type Delegations interface {
	StoreDelegation(ctx context.Context, caller identity.Principal, d identity.Deposit) (identity.DelegationStatus, error)
	DelegationOf(ctx context.Context, user string) (identity.DelegationStatus, error)
	ForgetDelegation(ctx context.Context, user string) error
}

// Guesses counts wrong secrets by where they came from, and refuses whoever
// tried too many: identityhttp.Limits.
type Guesses interface {
	Guessed(ctx context.Context) error
}

// Deps is what the surface serves.
type Deps struct {
	Service     *oracle.Service
	Search      Search
	Turns       *turn.Turns
	Engine      *run.Engine
	Worker      *turn.Worker
	Delegations Delegations
	Plugins     *registry.Registry
	Provider    model.Provider
	// Nudges remembers, across nodes, who was asked to authorise the oracle.
	Nudges plugin.Store
	// Authenticate is identityhttp's; it wraps the routes that need a caller.
	Authenticate func(httpserver.Handler) httpserver.Handler
	CORS         httpserver.CORSPolicy
	// Public are further routes that need no credentials (AUTH_EXCLUDED_ROUTES).
	Public []plugin.RoutePattern
	// Guesses counts wrong secrets at public routes of plugins; nil counts nothing.
	Guesses Guesses
	// Openings are the questions that the operator suggests; nil suggests none.
	Openings func() []instructions.Opening
	// Suggest has questions where the operator suggests none; nil has those that
	// every oracle answers.
	Suggest func(ctx context.Context) ([]instructions.Opening, error)
	// Heartbeat is how often a silent stream says that it is alive: 15s.
	Heartbeat time.Duration
	// Parting is how long the end of an aborted stream is held back: 250ms. The
	// published client fails when a stream ends before the answer to its abort.
	Parting time.Duration
	Log     *slog.Logger
}

// api is the handlers.
type api struct {
	deps   Deps
	nudges *nudges
	// readings are of those who read a conversation: it is held whole, and so is the answer.
	readings *ratelimit.Slots
}

// readingsEach is how many conversations one person reads at a time; more wait.
const readingsEach = 3

// Surface makes the oracle's routes. It fails when two plugins, or a plugin and
// the oracle, claim one route.
func Surface(d Deps) (httpserver.Surface, error) {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	d.Heartbeat = cmp.Or(d.Heartbeat, heartbeat)
	d.Parting = cmp.Or(d.Parting, parting)
	a := &api{deps: d, nudges: newNudges(d.Nudges, d.Delegations, d.Log), readings: ratelimit.NewSlots(readingsEach)}
	routes := a.routes()
	for i := range routes {
		routes[i].Handler = a.gated(routes[i], "")
	}
	more, public, err := a.pluginRoutes(routes)
	if err != nil {
		return httpserver.Surface{}, err
	}
	routes = append(routes, more...)
	public = append(public, d.Public...)
	for i := range routes {
		if matchesAny(public, routes[i].Method, routes[i].Pattern) {
			routes[i].Auth = httpserver.Public
		}
		routes[i].Handler = translated(routes[i].Handler)
	}
	return httpserver.Surface{
		Name: "oracle", Doc: "Chat with the oracle: sessions, messages, runs, delegation.",
		Routes:   routes,
		Prefixes: []string{"/sessions", "/messages", "/runs", "/delegation", "/models", "/approvals", "/openings"},
		CORS:     d.CORS, Authenticate: d.Authenticate,
	}, nil
}

func (a *api) routes() []httpserver.Route {
	session := httpserver.Param{Name: "sessionId", In: "path", Required: true, Doc: "The session; $ and : may be raw or percent-encoded."}
	page := []httpserver.Param{
		{Name: "limit", In: "query", Schema: 0, Doc: "1 to 100; 20 when absent."},
		{Name: "offset", In: "query", Schema: 0, Doc: "How many to skip; 0 when absent."},
		{Name: "search", In: "query", Doc: "Only sessions with every one of these words in their title or messages, or longer ones that begin with them, each with an excerpt."},
	}
	resume := []httpserver.Param{
		{Name: "runId", In: "path", Required: true},
		{Name: "after", In: "query", Schema: int64(0), Doc: "The number of the last frame that was read."},
		{Name: "Last-Event-ID", In: "header", Schema: int64(0), Doc: "As after."},
	}
	stream := httpserver.Reply{Status: 200, Media: "text/event-stream", Doc: "Frames until done."}
	chat, runs, grants := []string{"Chat"}, []string{"Runs"}, []string{"Delegation"}
	bad := httpserver.Reply{Status: 400, Body: ErrorBody{}, Doc: "What is wrong with the request."}
	unknown := httpserver.Reply{Status: 404, Body: ErrorBody{}, Doc: "No such session of yours."}
	list := []httpserver.Route{
		{
			Method: "POST", Pattern: "/sessions", Summary: "Create a session", Tags: chat,
			Handler: identityhttp.Caller(a.createSession),
			Replies: []httpserver.Reply{{Status: 201, Body: SessionBody{}}},
		},
		{
			Method: "GET", Pattern: "/sessions", Summary: "List your sessions", Tags: chat, Params: page,
			Handler: identityhttp.Caller(a.listSessions),
			Replies: []httpserver.Reply{{Status: 200, Body: SessionList{}}, bad},
		},
		{
			Method: "DELETE", Pattern: "/sessions/{sessionId}", Summary: "Delete a session", Tags: chat, Params: []httpserver.Param{session},
			Handler: identityhttp.Caller(a.deleteSession), Replies: []httpserver.Reply{{Status: 200, Body: Deleted{}}, unknown},
		},
		{
			Method: "GET", Pattern: "/sessions/{sessionId}/messages", Summary: "Read a session turn by turn", Tags: chat,
			Handler: identityhttp.Caller(a.pageMessages),
			Params: []httpserver.Param{
				session,
				{Name: "limit", In: "query", Schema: 0, Doc: "Turns, 1 to 100; 20 when absent."},
				{Name: "before", In: "query", Doc: "A message id: older turns."},
				{Name: "after", In: "query", Doc: "A message id: what follows."},
			},
			Replies: []httpserver.Reply{{Status: 200, Body: PageBody{}}, bad, unknown},
		},
		{
			Method: "GET", Pattern: "/sessions/{sessionId}/run", Summary: "The run that is going on", Tags: runs,
			Handler: identityhttp.Caller(a.sessionRun),
			Params: []httpserver.Param{
				session,
				{Name: "requestId", In: "query", Doc: "The X-Request-Id of a message whose answer was lost: the run that it started, also when it has ended."},
			},
			Replies: []httpserver.Reply{{Status: 200, Body: RunBody{}}, unknown},
		},
		{
			Method: "POST", Pattern: "/messages/{sessionId}", Summary: "Send a message", Tags: chat, Body: oracle.SendBody{},
			MaxBody: maxMessage, Stream: true,
			Doc: "With stream true the answer is an event stream that can be resumed at /runs/{runId}; otherwise one JSON reply. " +
				"An X-Request-Id that begins with once- names one message: when it comes again, the run that it started answers; with another message it is refused.",
			Params: []httpserver.Param{session}, Handler: identityhttp.Caller(a.send),
			Replies: []httpserver.Reply{
				{Status: 200, Body: ReplyBody{}},
				stream, bad, unknown,
				{Status: 409, Body: ErrorBody{}, Doc: "The request id names another message, or a run is going on and multitask is reject."},
			},
		},
		{
			Method: "GET", Pattern: "/messages/{sessionId}", Summary: "Read a whole session", Tags: chat, Params: []httpserver.Param{session},
			Handler: identityhttp.Caller(a.listMessages),
			Replies: []httpserver.Reply{{Status: 200, Body: MessageList{}}, unknown},
		},
		{
			Method: "POST", Pattern: "/messages/abort", Summary: "Stop what is going on in a session", Tags: chat, Body: AbortBody{},
			Handler: identityhttp.Caller(a.abort), Replies: []httpserver.Reply{{Status: 200, Body: Aborted{}}, bad},
		},
		{
			Method: "GET", Pattern: "/runs/{runId}", Summary: "Follow a run", Tags: runs, Params: resume, Stream: true,
			Handler: identityhttp.Caller(a.followRun), Began: a.beganRun,
			Doc: "The invocation that began the run is taken here until a minute after the run's end, also when it has expired.",
			Replies: []httpserver.Reply{
				stream, {Status: 404, Body: ErrorBody{}, Doc: "No such run of yours."}, {Status: 410, Body: ErrorBody{}, Doc: "Its frames were deleted."},
			},
		},
		{
			Method: "POST", Pattern: "/delegation", Summary: "Authorise the oracle", Tags: grants, Body: DepositBody{},
			Handler: identityhttp.Caller(a.storeDelegation),
			Replies: []httpserver.Reply{{Status: 200, Body: Granted{}}, bad},
		},
		{
			Method: "GET", Pattern: "/delegation", Summary: "Is the oracle authorised?", Tags: grants,
			Handler: identityhttp.Caller(a.delegation),
			Replies: []httpserver.Reply{{Status: 200, Body: DelegationBody{}}},
		},
		{
			Method: "DELETE", Pattern: "/delegation", Summary: "Withdraw the authorisation", Tags: grants,
			Handler: identityhttp.Caller(a.forgetDelegation),
			Replies: []httpserver.Reply{{Status: 200, Body: Granted{}}},
		},
	}
	list = append(list, a.approvalRoutes()...)
	list = append(list, a.versionRoutes()...)
	for i := range list {
		list[i].Auth = httpserver.Principal
		list[i].Replies = append(list[i].Replies, httpserver.Reply{Status: 401, Body: ErrorBody{}, Doc: "No valid UCAN."})
	}
	return append(list, httpserver.Route{
		Method: "GET", Pattern: "/models", Summary: "Models that can be chosen", Tags: chat, Auth: httpserver.Public,
		Limit: httpserver.LimitPages, Handler: a.models,
		Replies: []httpserver.Reply{{Status: 200, Body: ModelList{}}},
	}, httpserver.Route{
		Method: "GET", Pattern: "/openings", Summary: "Questions to begin with", Tags: chat, Auth: httpserver.Public, Limit: httpserver.LimitPages,
		Doc: "For a page on which nobody has asked anything yet; from the front matter of the operator's instructions. Without any, some about the sample community where it is loaded for everybody, and else some that every oracle answers.", Handler: a.openings,
		Replies: []httpserver.Reply{{Status: 200, Body: OpeningList{}}},
	})
}

// translated turns a plugin's error into a fault before the server logs it: what
// a plugin refuses is no failure of ours.
func translated(next httpserver.Handler) httpserver.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := next(w, r); err != nil {
			return fromPlugin(err)
		}
		return nil
	}
}

// fromPlugin turns a plugin's error into a fault with the same status.
func fromPlugin(err error) error {
	e, ok := errors.AsType[*plugin.Error](err)
	if !ok {
		return err
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	f := fault.Wrap(httpserver.KindOf(e.Status), e.Message, e.Cause).WithRetryAfter(e.RetryAfter)
	for name, value := range e.Fields {
		f = f.WithField(name, value)
	}
	return f
}

// invalid is a list of things that are wrong with a request.
func invalid(list []string) error {
	return fault.New(fault.Invalid, strings.Join(list, "; ")).WithField("message", list)
}

// intParam reads a number from the query, within bounds.
func intParam(r *http.Request, name string, otherwise, low, high int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fault.New(fault.Invalid, fmt.Sprintf("%s must be an integer number", name))
	}
	return min(max(n, low), high), nil
}
