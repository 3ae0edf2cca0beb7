// Package knowledgehttp serves knowledge over HTTP: questions under /knowledge, for
// whoever proves who they are, collections under /api/knowledge, for whoever
// proves a right to their folders, and for operators what many may read.
//
// A token that gives everything in a folder may make it a collection; who else reads
// its passages is its owner's to say, by a token of their own, since what is
// published cannot be taken back from those who read it. Whoever answers questions to
// people is an operator, or holds knowledge/answer in the folder. What callers may
// read is the service's to say.
package knowledgehttp

import (
	"context"
	"net/http"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/inquiry"
)

// Deps are what the surfaces need besides the service.
type Deps struct {
	// Identified wraps routes for those who prove who they are (identity.Oracle),
	// Bearing those for holders of a token for files (identity.Files).
	Identified, Bearing func(httpserver.Handler) httpserver.Handler
	// CallerOf is what somebody who proved who they are may read.
	CallerOf func(ctx context.Context, p identity.Principal) (knowledge.Caller, error)
	// Admit refuses a token for files that the file store does not take any more.
	Admit      func(ctx context.Context, p identity.Principal) error
	Open, File httpserver.CORSPolicy
	// FileErrors is the table of routes for holders of a token for files.
	FileErrors httpserver.ErrorWriter
	// Inquiries are questions that people answer.
	Inquiries *inquiry.Service
}

const (
	askPrefix    = "/knowledge"
	managePrefix = "/api/knowledge"
)

type api struct {
	svc  *knowledge.Service
	deps Deps
}

// Surfaces returns the routes.
func Surfaces(s *knowledge.Service, d Deps) []httpserver.Surface {
	a := &api{s, d}
	return []httpserver.Surface{
		{
			Name: "knowledge", Doc: "Answers from the community's own documents, with their sources, as far as the caller may read them.",
			Routes: append(a.askRoutes(), a.askPeopleRoutes()...), Prefixes: []string{askPrefix}, CORS: d.Open,
			Authenticate: d.Identified,
		},
		{
			Name: "collections", Doc: "Folders of the file store whose documents answer questions, and who may read them.",
			Routes:   append(a.manageRoutes(), a.staffRoutes(managePrefix, httpserver.Principal, tags, a.staffed)...),
			Prefixes: []string{managePrefix}, Errors: d.FileErrors, CORS: d.File, Authenticate: d.Bearing,
			Right: httpserver.RightFiles,
		},
		operatorSurface(d.Inquiries),
		a.publishSurface(),
	}
}

var (
	idParam = httpserver.Param{Name: "id", In: "path", Required: true, Doc: "Id of the collection."}
	tags    = []string{"Knowledge"}
)

func (a *api) askRoutes() []httpserver.Route {
	return []httpserver.Route{
		{
			Method: http.MethodPost, Pattern: askPrefix + "/search", Summary: "Ask the documents that you may read", Tags: tags, Auth: httpserver.Principal,
			Body: AskBody{}, Replies: []httpserver.Reply{{Status: 200, Body: AnswerBody{}}}, Handler: a.identified(a.search),
		},
		{
			Method: http.MethodGet, Pattern: askPrefix + "/collections", Summary: "List the collections that you may read", Tags: tags, Auth: httpserver.Principal,
			Replies: []httpserver.Reply{{Status: 200, Body: ReadableList{}}}, Handler: a.identified(a.readable),
		},
		{
			Method: http.MethodGet, Pattern: askPrefix + "/passages/{collection}/{document}/{number}", Summary: "Read a passage and those around it", Tags: tags,
			Auth: httpserver.Principal, Params: []httpserver.Param{
				{Name: "collection", In: "path", Required: true},
				{Name: "document", In: "path", Required: true},
				{Name: "number", In: "path", Required: true, Schema: 0},
				{Name: "around", In: "query", Schema: 0, Doc: "Passages before and after, at most 3."},
			},
			Replies: []httpserver.Reply{{Status: 200, Body: PassageList{}}}, Handler: a.identified(a.passages),
		},
	}
}

func (a *api) manageRoutes() []httpserver.Route {
	return []httpserver.Route{
		{
			Method: http.MethodPost, Pattern: managePrefix + "/collections", Summary: "Make a folder a collection", Tags: tags, Auth: httpserver.Principal,
			Doc:     "Needs everything (fs/*) in the folder, and other readers than delegates a token of the folder's owner. Documents are added, changed and removed as files of the folder.",
			Example: map[string]any{"name": "Notes", "folder": "/notes", "readers": "members"},
			Body:    CollectionBody{}, Replies: []httpserver.Reply{{Status: 201, Body: CollectionEntry{}}},
			Handler: a.bearing(a.create),
		},
		{
			Method: http.MethodGet, Pattern: managePrefix + "/collections", Summary: "List collections whose folders the token may list, with their progress", Tags: tags,
			Auth: httpserver.Principal, Replies: []httpserver.Reply{{Status: 200, Body: CollectionList{}}},
			Handler: a.bearing(a.list),
		},
		{
			Method: http.MethodPatch, Pattern: managePrefix + "/collections/{id}", Summary: "Rename a collection, or choose its readers", Tags: tags,
			Doc:  "What is not given stays. Readers are chosen with a token of the folder's owner, not with a delegation.",
			Auth: httpserver.Principal, Params: []httpserver.Param{idParam}, Body: ChangeBody{},
			Example: map[string]any{"readers": "members"},
			Replies: []httpserver.Reply{{Status: 200, Body: CollectionEntry{}}},
			Handler: a.bearing(a.change),
		},
		{
			Method: http.MethodDelete, Pattern: managePrefix + "/collections/{id}", Summary: "Forget a collection; its files stay", Tags: tags,
			Auth: httpserver.Principal, Params: []httpserver.Param{idParam}, Replies: []httpserver.Reply{{Status: 204}},
			Handler: a.bearing(a.remove),
		},
		{
			Method: http.MethodGet, Pattern: managePrefix + "/collections/{id}/documents", Summary: "List documents and how far they are read", Tags: tags,
			Auth: httpserver.Principal, Params: []httpserver.Param{
				idParam, {Name: "after", In: "query", Doc: "The last path of the page before."}, {Name: "limit", In: "query", Schema: 0},
			},
			Replies: []httpserver.Reply{{Status: 200, Body: DocumentList{}}}, Handler: a.bearing(a.documents),
		},
		{
			Method: http.MethodPost, Pattern: managePrefix + "/search", Summary: "Ask the collections whose folders the token may read", Tags: tags,
			Doc:  "For holders of a delegation: fs/read or knowledge/read on the folder.",
			Auth: httpserver.Principal, Body: AskBody{}, Replies: []httpserver.Reply{{Status: 200, Body: AnswerBody{}}},
			Handler: a.bearing(a.searchBearing),
		},
	}
}

// identified is for those who prove who they are.
func (a *api) identified(h func(w http.ResponseWriter, r *http.Request,
	who knowledge.Caller) error,
) httpserver.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		p, ok := identity.FromContext(r.Context())
		if !ok {
			return fault.New(fault.Unauthenticated, identity.TextMissing)
		}
		who, err := a.deps.CallerOf(r.Context(), p)
		if err != nil {
			return err
		}
		return h(w, r, who)
	}
}

// bearing is for holders of a token for files.
func (a *api) bearing(h func(w http.ResponseWriter, r *http.Request, p identity.Principal) error) httpserver.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		p, ok := identity.FromContext(r.Context())
		if !ok {
			return fault.New(fault.Unauthenticated, identity.TextMissingBearer)
		}
		if p.CIDs != nil {
			return fault.New(fault.Forbidden, "This token reaches files by CID only.").WithCode("cid_scoped")
		}
		if err := a.deps.Admit(r.Context(), p); err != nil {
			return err
		}
		return h(w, r, p)
	}
}

// stamp writes a time; empty when there is none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
