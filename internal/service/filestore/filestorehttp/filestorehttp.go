// Package filestorehttp serves the file store over HTTP, under /api/fs and
// /public/id.
//
// It promises the routes, bodies and headers of the store's public documents, so
// that their clients work unchanged, and that a browser never runs a stored file
// on our origin. It decides nothing: scopes, conditions and conflicts are the
// service's.
//
// Decision: ADR 0031.
package filestorehttp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/carimport"
	"github.com/castalia-org/castalia/internal/service/filestore/contenthttp"
	"github.com/castalia-org/castalia/internal/service/filestore/dag"
	"github.com/castalia-org/castalia/internal/service/filestore/filetext"
	"github.com/castalia-org/castalia/internal/service/filestore/folder"
	"github.com/castalia-org/castalia/internal/service/filestore/plainlink"
	"github.com/castalia-org/castalia/internal/service/filestore/search"
)

// Deps are what the surface needs besides the service.
type Deps struct {
	// Authenticate puts the principal into the context (identityhttp.WrapLimited).
	Authenticate func(httpserver.Handler) httpserver.Handler
	CORS         httpserver.CORSPolicy
	Folders      *folder.Service
	Import       *carimport.Service // nil offers no import
	Looks        Looks              // nil shows nothing of files
	// Holdings are what the namespaces hold of answers and work with, here and in the tools
	// of agents; nil bounds nothing.
	Holdings *ratelimit.Holdings
	// BaseURL is where clients reach this deployment; empty means as the server
	// knows (httpserver.PublicBase).
	BaseURL string
}

// prefix is where the routes are.
const prefix = "/api/fs"

// Surface returns the routes.
func Surface(s *filestore.Service, d Deps) httpserver.Surface {
	a := &api{
		svc: s, find: search.New(s), text: filetext.New(s), dag: dag.New(s, d.Folders), plain: plainlink.New(s, nil), deps: d,
	}
	a.uploads = newUploads(a)
	var routes []httpserver.Route
	for _, group := range [][]httpserver.Route{
		a.readRoutes(), a.writeRoutes(), a.folderRoutes(), a.listRoutes(), a.batchRoutes(), a.versionRoutes(), a.feedRoutes(),
		a.importRoutes(), a.lookRoutes(), a.uploadRoutes(), a.shareRoutes(), a.publicRoutes(),
	} {
		routes = append(routes, group...)
	}
	return httpserver.Surface{
		Name:   "filestore",
		Doc:    "Encrypted, content-addressed files. Every file has a CID (profile unixfs-v1-2025) over its plaintext; tokens reach a namespace, a subtree of it, or a set of CIDs.",
		Routes: append(routes, heads(routes)...), Prefixes: []string{prefix, "/public/id"},
		Errors: contenthttp.Errors, CORS: d.CORS, Authenticate: d.Authenticate, Right: httpserver.RightFiles,
	}
}

// heads are the HEAD twins of content routes: the server makes them for answers
// of known length only, and streams are not among them.
func heads(routes []httpserver.Route) []httpserver.Route {
	var out []httpserver.Route
	for _, r := range routes {
		if r.Method == http.MethodGet && r.Stream && r.Pattern != prefix+"/changes" {
			r.Method, r.Hidden = http.MethodHead, true
			out = append(out, r)
		}
	}
	return out
}

type api struct {
	svc     *filestore.Service
	find    *search.Service
	text    *filetext.Service
	dag     *dag.Service
	plain   *plainlink.Service
	deps    Deps
	uploads *uploads
}

// handler is a handler of somebody who is known.
type handler func(w http.ResponseWriter, r *http.Request, a filestore.Access) error

// with reads the caller's access. CID-scoped tokens are refused here already on
// every route that is not theirs.
func (a *api) with(h handler) httpserver.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		access, err := a.accessOf(r)
		if err != nil {
			return err
		}
		if access.Scoped {
			return fault.New(fault.Forbidden, "this token reaches files by CID only").WithCode("cid_scoped")
		}
		return h(w, r, access)
	}
}

// held is with for what costs much, or holds an answer until it is read: what the work
// takes is counted for the namespace, until the answer is sent.
func (a *api) held(h handler) httpserver.Handler {
	return a.with(func(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
		hold := a.deps.Holdings.Begin(filetext.Holder(access))
		defer hold.Leave()
		return h(w, r.WithContext(hold.In(r.Context())), access)
	})
}

// withCID is with for the two routes that CID-scoped tokens may use.
func (a *api) withCID(h handler) httpserver.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		access, err := a.accessOf(r)
		if err != nil {
			return err
		}
		return h(w, r, access)
	}
}

func (a *api) accessOf(r *http.Request) (filestore.Access, error) {
	p, ok := identity.FromContext(r.Context())
	if !ok {
		return filestore.Access{}, fault.New(fault.Unauthenticated, identity.TextMissingBearer)
	}
	access, err := filestore.AccessOf(p)
	if err != nil {
		return filestore.Access{}, err
	}
	return access, a.svc.Admit(r.Context(), access)
}

// once reads the Idempotency-Key. It is bound to the caller and the request, so
// that nobody gets another one's receipt. What a body says is part of the request
// too: of JSON a digest of its meaning, since libraries write the same object in
// another order; of a file its length and SHA-256. Another body is 400 key_reused,
// as another address is (a draft of the IETF has 422).
func once(r *http.Request, a filestore.Access) filestore.Once {
	key := r.Header.Get("Idempotency-Key")
	if key == "" {
		return filestore.Once{}
	}
	return filestore.Once{Key: digest(a.Invoker, key), Fingerprint: digest(r.Method, r.URL.EscapedPath(), r.URL.RawQuery)}
}

// bind ties the key to what the body says, however it is written.
func bind(o filestore.Once, body any) (filestore.Once, error) {
	if o.Key == "" {
		return o, nil
	}
	text, err := json.Marshal(body)
	o.Body = digest(string(text))
	return o, err
}

func digest(parts ...string) string {
	h := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(h[:])
}

// base returns the address under which clients know us; empty when nobody can
// say, which makes references relative.
func (a *api) base(r *http.Request) string {
	if a.deps.BaseURL != "" {
		return strings.TrimSuffix(a.deps.BaseURL, "/")
	}
	return httpserver.PublicBase(r)
}
