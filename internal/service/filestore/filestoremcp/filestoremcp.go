// Package filestoremcp offers the file store to agents over the Model Context
// Protocol, at /mcp.
//
// It promises that a token is shown the tools it can use and no others (a token
// for a set of CIDs sees exactly two), that file text is in a result's content
// once and nowhere else, and that a failure says what to do next. Every request
// is complete in itself, so any node can serve it, and its work ends with it. It
// refuses batches. It decides nothing: each tool asks the service with the
// caller's access.
package filestoremcp

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/filestore"
)

// Deps are what the surface needs besides the service.
type Deps struct {
	// Authenticate puts the principal into the context (identityhttp.WrapLimited
	// for identity.MCP).
	Authenticate func(httpserver.Handler) httpserver.Handler
	CORS         httpserver.CORSPolicy
	// BaseURL is where clients reach this deployment; empty means as the server
	// knows (httpserver.AbsoluteBase).
	BaseURL string
	// BehindProxy says that a proxy on this machine forwards foreign Host headers;
	// without it they are refused on loopback, against DNS rebinding.
	BehindProxy bool
	Version     string
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
			Method: method, Pattern: "/mcp", Summary: "Model Context Protocol (streamable HTTP, stateless)", Tags: []string{"mcp"},
			Doc:  "JSON-RPC requests of MCP 2026-07-28 and earlier. Tokens may be used until they expire.",
			Auth: httpserver.Principal, MaxBody: maxBody, Stream: true, BodyMedia: []string{"application/json"},
			Replies: []httpserver.Reply{{Status: 200, Media: "application/json"}}, Handler: h.serve,
		}
	}
	metadata := func(pattern string) httpserver.Route {
		return httpserver.Route{
			Method: http.MethodGet, Pattern: pattern, Summary: "What tokens /mcp takes (RFC 9728)", Tags: []string{"mcp"}, Auth: httpserver.Public, Limit: httpserver.LimitPages,
			Replies: []httpserver.Reply{{Status: 200, Body: Metadata{}}}, Handler: h.metadata,
		}
	}
	return httpserver.Surface{
		Name: "mcp", Doc: "The file store's tools for agents.",
		Routes:   []httpserver.Route{route(http.MethodPost), route(http.MethodGet), route(http.MethodDelete), metadata(metadataPath), metadata(metadataPath + "/mcp")},
		Prefixes: []string{"/mcp"}, Errors: h.writeError, CORS: d.CORS, Authenticate: d.Authenticate,
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
	deps Deps
	mcp  httpserver.Handler
	// servers has one server for each set of abilities; cids is for tokens that
	// reach CIDs alone.
	servers map[filestore.Ability]*mcp.Server
	cids    *mcp.Server
	watches watches
}

func newHandler(s *filestore.Service, d Deps) *handler {
	h := &handler{svc: s, deps: d, servers: map[filestore.Ability]*mcp.Server{}}
	h.watches = watches{svc: s, tell: h.updated, by: map[string]*watch{}}
	for a := range filestore.All + 1 {
		h.servers[a] = h.newServer(a, false)
	}
	h.cids = h.newServer(filestore.Read, true)
	stream := mcp.NewStreamableHTTPHandler(h.serverFor, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
		DisableLocalhostProtection: d.BehindProxy,
	})
	// The token is verified already; this hands the access to the tools.
	h.mcp = httpserver.FromHTTP(auth.RequireBearerToken(func(ctx context.Context, _ string, r *http.Request) (*auth.TokenInfo, error) {
		a, ok := ctx.Value(accessKey{}).(filestore.Access)
		if !ok {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{Extra: map[string]any{extraAccess: a, extraBase: h.base(r), extraRequest: ctx}, UserID: a.Invoker}, nil
	}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(stream))
	return h
}

type accessKey struct{}

// What the SDK carries to a tool.
const (
	extraAccess  = "access"
	extraBase    = "base"
	extraRequest = "request"
)

func (h *handler) newServer(abilities filestore.Ability, cidsOnly bool) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "castalia-files", Title: "Castalia files", Version: h.deps.Version}, &mcp.ServerOptions{
		Instructions: instructions(abilities, cidsOnly),
		Capabilities: capabilities(abilities, cidsOnly),
		// Who may listen to what is decided before the SDK is asked.
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
			c.CacheScope, c.TTLMs = "private", int(5*time.Second/time.Millisecond) // lists depend on the token
		},
		PageSize: 100,
	})
	h.addTools(s, abilities, cidsOnly)
	h.addResources(s, abilities, cidsOnly)
	s.AddReceivingMiddleware(endWithRequest)
	return s
}

// capabilities leaves out logging, and changes of lists: they do not change under
// a token.
func capabilities(abilities filestore.Ability, cidsOnly bool) *mcp.ServerCapabilities {
	c := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}
	if resources(abilities, cidsOnly) {
		c.Resources = &mcp.ResourceCapabilities{Subscribe: true}
	}
	return c
}

// instructions name the tools that the token has.
func instructions(abilities filestore.Ability, cidsOnly bool) string {
	switch {
	case cidsOnly:
		return "This token reaches a fixed set of files by CID. List them with vfs_list_cids, read them with vfs_read_cid."
	case abilities&filestore.Read == 0:
		return "A person's files, by name alone: find them with vfs_list, vfs_glob and vfs_stat. This token does not read them."
	}
	return "A person's files. Find (vfs_list, vfs_glob, vfs_search, vfs_grep), then read (vfs_read), then act. " +
		"Ask before you overwrite or delete. When something is refused, say so: it may exist and be out of this token's reach. " +
		"Pass ifCid or ifVersion when you change a file you have read, so that nobody's work is lost."
}

// serverFor picks the server that shows what the caller can use.
func (h *handler) serverFor(r *http.Request) *mcp.Server {
	a, ok := r.Context().Value(accessKey{}).(filestore.Access)
	if !ok {
		return nil
	}
	if a.Scoped {
		return h.cids
	}
	var all filestore.Ability
	for _, g := range a.Grants {
		all |= g.Abilities
	}
	return h.servers[all]
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request) error {
	p, ok := identity.FromContext(r.Context())
	if !ok {
		return fault.New(fault.Unauthenticated, identity.TextMissingBearer)
	}
	a, err := filestore.AccessOf(p)
	if err != nil {
		return err
	}
	if err := h.svc.Admit(r.Context(), a); err != nil {
		return err
	}
	if isBatch(r) {
		return refuseBatch(w)
	}
	return h.mcp(w, r.WithContext(context.WithValue(r.Context(), accessKey{}, a)))
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
	httpserver.FilesErrors(w, r, err)
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
