// Package filestoremcp offers the file store to agents over the Model Context
// Protocol, at /mcp.
//
// It promises that a token is shown the tools it can use and no others (a token
// for a set of CIDs sees exactly two), that file text is in a result's content
// once and nowhere else, and that a failure says what to do next, and whether the token
// reached anything of what was named. Every request
// is complete in itself, so any node can serve it, and its work ends with it. What
// other services offer agents stands beside its tools, for callers that may use it.
// It refuses batches. It decides nothing: each tool asks the service with the
// caller's access.
//
// Decision: ADR 0206.
package filestoremcp

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/contenthttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filetext"
	"github.com/castalia-org/castalia/internal/service/filestore/folder"
	"github.com/castalia-org/castalia/internal/service/filestore/search"
)

// Deps are what the surface needs besides the service.
type Deps struct {
	// Authenticate puts the principal into the context (identityhttp.WrapLimited
	// for identity.MCP).
	Authenticate func(httpserver.Handler) httpserver.Handler
	CORS         httpserver.CORSPolicy
	Folders      *folder.Service
	// Holdings are what the namespaces hold of answers and work with, here and over HTTP; nil
	// bounds nothing.
	Holdings *ratelimit.Holdings
	// BaseURL is where clients reach this deployment; empty means as the server
	// knows (httpserver.AbsoluteBase).
	BaseURL string
	// BehindProxy says that a proxy on this machine forwards foreign Host headers;
	// without it they are refused on loopback, against DNS rebinding.
	BehindProxy bool
	Version     string
	// More, when set, adds tools of other services for tokens that are not for CIDs
	// alone. They find the principal in their context.
	More func(s *mcp.Server)
	// Part, when set, is what another service offers at the same address.
	Part Part
}

// Part is what another service offers agents, to callers that may use it; never to
// tokens for CIDs.
type Part interface {
	// Enter looks at a request before it is served, and says what to go on with.
	Enter(w http.ResponseWriter, r *http.Request) (Entered, error)
	// AddTo offers the part's tools, prompts and templates of resources on a server.
	AddTo(s *mcp.Server)
	// Instructions say what it is good for.
	Instructions() string
	// Receive serves what the part has of lists that change and of completion, and passes
	// other methods on.
	Receive(next mcp.MethodHandler) mcp.MethodHandler
	// ListResources pages through the part's resources: after is empty, or what it
	// returned as next.
	ListResources(ctx context.Context, after string) (_ []*mcp.Resource, next string, err error)
}

// Entered is a request that a Part has seen.
type Entered struct {
	// Writer and Request are what to go on with; without a request it was answered.
	Writer  http.ResponseWriter
	Request *http.Request
	// Open says that the caller may use the part, Stream that the answer tells of its
	// progress.
	Open, Stream bool
}

// maxBody is the largest request, and with that the largest text that a tool
// writes; what is larger goes over HTTP. The SDK holds a request several times
// over while it decodes it.
const maxBody = 4 << 20

const metadataPath = "/.well-known/oauth-protected-resource"

// Surface returns the routes.
func Surface(s *filestore.Service, d Deps) httpserver.Surface {
	h := newHandler(s, d)
	route := func(method string) httpserver.Route {
		return httpserver.Route{
			Example: map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
			Method:  method, Pattern: "/mcp", Summary: "Model Context Protocol (streamable HTTP, stateless)", Tags: []string{"MCP"},
			Doc:  "JSON-RPC requests of MCP 2026-07-28 and earlier. Tokens may be used until they expire.",
			Auth: httpserver.Principal, MaxBody: maxBody, Stream: true, BodyMedia: []string{"application/json"},
			Params: []httpserver.Param{{
				Name: "Accept", In: "header", Required: true, Doc: "Both kinds of answers.", Example: "application/json, text/event-stream",
			}},
			Replies: []httpserver.Reply{{Status: 200, Media: "application/json"}}, Handler: h.serve,
		}
	}
	metadata := func(pattern string) httpserver.Route {
		return httpserver.Route{
			Method: http.MethodGet, Pattern: pattern, Summary: "What tokens /mcp takes (RFC 9728)", Tags: []string{"MCP"},
			Auth: httpserver.Public, Limit: httpserver.LimitPages,
			Replies: []httpserver.Reply{{Status: 200, Body: Metadata{}}}, Handler: h.metadata,
		}
	}
	return httpserver.Surface{
		Name: "mcp", Doc: "Tools for agents: files, knowledge and the oracle.",
		Routes: []httpserver.Route{
			route(http.MethodPost), route(http.MethodGet), route(http.MethodDelete),
			metadata(metadataPath), metadata(metadataPath + "/mcp"),
		},
		Prefixes: []string{"/mcp"}, Errors: h.writeError, CORS: d.CORS, Authenticate: d.Authenticate,
		Right: httpserver.RightFiles,
	}
}

// Metadata describes the protected resource.
type Metadata struct {
	Resource      string   `json:"resource"`
	ResourceName  string   `json:"resource_name"`
	BearerMethods []string `json:"bearer_methods_supported"`
	Scopes        []string `json:"scopes_supported"`
	Documentation string   `json:"resource_documentation"`
}

type handler struct {
	svc  *filestore.Service
	find *search.Service
	text *filetext.Service
	deps Deps
	// whole answers requests in one piece, streams those whose progress is told.
	whole, streams httpserver.Handler
	watches        watches

	mu sync.Mutex
	// servers has one server for each set of abilities, made when it is asked for.
	servers map[shown]*mcp.Server
}

// shown is what a caller can use, and with that sees.
type shown struct {
	abilities filestore.Ability
	// cids is for tokens that reach CIDs alone, part for those that may use Deps.Part.
	cids, part bool
}

// resources reports whether files are resources.
func (o shown) resources() bool { return o.abilities&filestore.Read != 0 && !o.cids }

func newHandler(s *filestore.Service, d Deps) *handler {
	h := &handler{svc: s, find: search.New(s), text: filetext.New(s), deps: d, servers: map[shown]*mcp.Server{}}
	h.watches = watches{svc: s, tell: h.updated, by: map[string]*watch{}}
	h.whole, h.streams = h.serving(true), h.serving(false)
	return h
}

// serving is the protocol, answering in one piece or as a stream.
func (h *handler) serving(whole bool) httpserver.Handler {
	stream := mcp.NewStreamableHTTPHandler(h.serverFor, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: whole, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
		DisableLocalhostProtection: h.deps.BehindProxy,
	})
	// The token is verified already; this hands the access to the tools.
	return httpserver.FromHTTP(auth.RequireBearerToken(func(ctx context.Context, _ string,
		r *http.Request,
	) (*auth.TokenInfo, error) {
		c, ok := ctx.Value(callerKey{}).(caller)
		if !ok {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{
			Extra: map[string]any{extraAccess: c.access, extraBase: h.base(r), extraRequest: ctx}, UserID: c.access.Invoker,
		}, nil
	}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(stream))
}

// caller is who asks, with what it sees.
type caller struct {
	access filestore.Access
	shown  shown
}

type callerKey struct{}

// What the SDK carries to a tool.
const (
	extraAccess  = "access"
	extraBase    = "base"
	extraRequest = "request"
)

func (h *handler) newServer(o shown) *mcp.Server {
	name := mcp.Implementation{Name: "castalia-files", Title: "Castalia files", Version: h.deps.Version}
	says := instructions(o)
	if o.part {
		name.Name, name.Title = "castalia", "Castalia"
		says = strings.TrimSpace(h.deps.Part.Instructions() + "\n\n" + says)
	}
	s := mcp.NewServer(&name, &mcp.ServerOptions{
		Instructions: says,
		Capabilities: capabilities(o),
		// Who may listen to what is decided before the SDK is asked.
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
			c.CacheScope, c.TTLMs = "private", int(5*time.Second/time.Millisecond) // lists depend on the token
		},
		PageSize: 100,
	})
	h.addTools(s, o.abilities, o.cids)
	if h.deps.More != nil && !o.cids {
		h.deps.More(s)
	}
	if o.part {
		h.deps.Part.AddTo(s)
		s.AddReceivingMiddleware(h.deps.Part.Receive)
	}
	h.addResources(s, o)
	s.AddReceivingMiddleware(endWithRequest, tellUnreached)
	return s
}

// capabilities leaves out logging, and changes of lists: they do not change under
// a token.
func capabilities(o shown) *mcp.ServerCapabilities {
	c := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}
	if o.resources() || o.part {
		c.Resources = &mcp.ResourceCapabilities{Subscribe: o.resources()}
	}
	if o.part {
		c.Prompts, c.Completions = &mcp.PromptCapabilities{}, &mcp.CompletionCapabilities{}
	}
	return c
}

// instructions name the tools that the token has.
func instructions(o shown) string {
	switch {
	case o.cids:
		return "This token reaches a fixed set of files by CID. List them with vfs_list_cids, read them with vfs_read_cid."
	case o.abilities == 0:
		return ""
	case o.abilities&filestore.Read == 0:
		return "A person's files, by name alone: find them with vfs_list, vfs_glob and vfs_stat. This token does not read them."
	}
	return "A person's files. Find (vfs_list, vfs_glob, vfs_search, vfs_grep), then read (vfs_read), then act. " +
		"Ask before you overwrite or delete. When something is refused, say so: it may exist and be out of this token's reach. " +
		"Pass ifCid or ifVersion when you change a file you have read, so that nobody's work is lost."
}

// serverFor picks the server that shows what the caller can use.
func (h *handler) serverFor(r *http.Request) *mcp.Server {
	c, ok := r.Context().Value(callerKey{}).(caller)
	if !ok {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.servers[c.shown]
	if !ok {
		s = h.newServer(c.shown)
		h.servers[c.shown] = s
	}
	return s
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request) error {
	c, err := h.callerOf(r)
	if err != nil {
		return err
	}
	if isBatch(r) {
		return refuseRequest(w, textBatch)
	}
	text, why := unfit(r)
	if why != "" {
		return refuseRequest(w, why)
	}
	serving := h.whole
	if h.deps.Part != nil && !c.shown.cids {
		entered, err := h.deps.Part.Enter(w, r)
		if err != nil || entered.Request == nil {
			return err
		}
		w, r, c.shown.part = entered.Writer, entered.Request, entered.Open
		if entered.Stream {
			serving = h.streams
		}
	}
	hold := h.deps.Holdings.Begin(filetext.Holder(c.access))
	defer hold.Leave() // the answer has been sent by then
	return answerUnknown(w, text, serving(w, r.WithContext(context.WithValue(hold.In(r.Context()), callerKey{}, c))))
}

// callerOf says who asks. A credential that opens other services alone has an access to
// nothing here.
func (h *handler) callerOf(r *http.Request) (caller, error) {
	p, ok := identity.FromContext(r.Context())
	if !ok {
		return caller{}, fault.New(fault.Unauthenticated, identity.TextMissingBearer)
	}
	if agent := identity.AgentOf(r.Context()); agent.Files == nil && (agent.Oracle != nil || agent.Knowledge != nil) {
		return caller{access: filestore.Access{Invoker: p.DID}}, nil
	}
	a, err := filestore.AccessOf(p)
	if err != nil {
		return caller{}, err
	}
	if err := h.svc.Admit(r.Context(), a); err != nil {
		return caller{}, err
	}
	if a.Scoped {
		return caller{access: a, shown: shown{abilities: filestore.Read, cids: true}}, nil
	}
	var all filestore.Ability
	for _, g := range a.Grants {
		all |= g.Abilities
	}
	return caller{access: a, shown: shown{abilities: all}}, nil
}

// writeError tells a client without a good token where to learn what is wanted.
func (h *handler) writeError(w http.ResponseWriter, r *http.Request, err error) {
	challenge := `Bearer resource_metadata="` + h.base(r) + metadataPath + `/mcp", scope="fs/list fs/read fs/write fs/delete"`
	switch {
	case fault.Is(err, fault.Unauthenticated):
		if _, had := httpserver.Bearer(r); had {
			challenge += `, error="invalid_token"`
		}
		w.Header().Set("WWW-Authenticate", challenge)
	case fault.Is(err, fault.Forbidden):
		w.Header().Set("WWW-Authenticate", challenge+`, error="insufficient_scope"`)
	}
	contenthttp.Errors(w, r, err)
}

func (h *handler) metadata(w http.ResponseWriter, r *http.Request) error {
	return httpserver.WriteJSON(w, http.StatusOK, Metadata{
		Resource: h.base(r) + "/mcp", ResourceName: "Castalia files", BearerMethods: []string{"header"},
		Scopes: []string{"fs/list", "fs/read", "fs/write", "fs/delete"}, Documentation: h.base(r) + "/docs",
	})
}

func (h *handler) base(r *http.Request) string {
	if h.deps.BaseURL != "" {
		return strings.TrimSuffix(h.deps.BaseURL, "/")
	}
	return httpserver.AbsoluteBase(r)
}
