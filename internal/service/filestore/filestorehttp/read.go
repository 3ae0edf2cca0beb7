package filestorehttp

import (
	"net/http"
	"strconv"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/contenthttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filetext"
)

var (
	pathParam   = httpserver.Param{Name: "path", In: "query", Required: true, Doc: "Absolute path of the file."}
	intoParam   = httpserver.Param{Name: "path", In: "query", Doc: "Absolute path of the file. A form may leave it out, or name a folder by a slash at the end.", Example: "/notes/hello.txt"}
	idParam     = httpserver.Param{Name: "id", In: "path", Required: true, Doc: "Identifier of the file."}
	limitParam  = httpserver.Param{Name: "limit", In: "query", Schema: 0, Doc: "Entries of the page: 50 unless given, at most 200."}
	fromParam   = httpserver.Param{Name: "offset", In: "query", Schema: 0, Doc: "Entries to leave out."}
	afterParam  = httpserver.Param{Name: "after", In: "query", Doc: "Path after which to begin, instead of offset: as fast far on as at the start."}
	rangeParam  = httpserver.Param{Name: "Range", In: "header", Doc: "One or several byte ranges, at most 16 once those that overlap are joined; with more, and with other units, the whole content is sent."}
	onceParam   = httpserver.Param{Name: "Idempotency-Key", In: "header", Doc: "A repeated request with the key gets the first one's answer; with another address or body it is 400 key_reused."}
	publicParam = httpserver.Param{Name: "public", In: "query", Schema: true, Doc: "true or false, here or in the body: it has to be said, and once."}
	matchParam  = httpserver.Param{Name: "If-Match", In: "header", Doc: "CIDs of which one must be current."}
)

var contentReplies = []httpserver.Reply{
	{Status: 200, Media: "application/octet-stream", Doc: "The bytes, with x-vfs-cid, x-vfs-content-hash (SHA-256, hex), x-vfs-version, ETag (the CID) and Repr-Digest (of the whole, also with a range)."},
	{Status: 206, Doc: "The ranges."},
	{Status: 304, Doc: "If-None-Match names the current CID."},
	{Status: 404, Doc: "No such file within reach."},
	{Status: 412, Doc: "If-Match does not name the current CID."},
	{Status: 416, Doc: "No such range."},
}

func (a *api) readRoutes() []httpserver.Route {
	get := func(pattern, summary string, h httpserver.Handler, params ...httpserver.Param) httpserver.Route {
		return httpserver.Route{
			Method: http.MethodGet, Pattern: prefix + pattern, Summary: summary, Tags: []string{"Files"},
			Auth:   httpserver.Principal,
			Params: append(params, rangeParam), Stream: true, Replies: contentReplies, Handler: h,
		}
	}
	lines := get("/files/{id}/read", "Read a window of a text file, with numbered lines", a.held(a.readLines), idParam,
		httpserver.Param{Name: "offset", In: "query", Schema: 0, Doc: "First line, from 1."},
		httpserver.Param{Name: "limit", In: "query", Schema: 0, Doc: "Lines: 2000 unless given, at most 5000."})
	lines.Stream, lines.Params = false, lines.Params[:3]
	lines.Replies = []httpserver.Reply{{Status: 200, Body: LineWindow{}}, {Status: 415, Doc: "The file is not text."}}
	stat := httpserver.Route{
		Method: http.MethodGet, Pattern: prefix + "/stat", Summary: "Describe the file at a path", Tags: []string{"Files"}, Auth: httpserver.Principal,
		Params:  []httpserver.Param{pathParam},
		Replies: []httpserver.Reply{{Status: 200, Body: FileMetadata{}}, {Status: 404}}, Handler: a.with(a.stat),
	}
	byID := stat
	byID.Pattern, byID.Summary, byID.Params, byID.Handler = prefix+"/files/{id}", "Describe a file",
		[]httpserver.Param{idParam}, a.with(a.statID)
	return []httpserver.Route{
		get("/files/{id}/content", "Read a file", a.with(a.contentByID), idParam),
		get("/content", "Read the file at a path", a.with(a.contentByPath), pathParam),
		get("/cid/{cid}", "Read a file by its CID", a.withCID(a.contentByCID),
			httpserver.Param{Name: "cid", In: "path", Required: true, Doc: "CID of the content."}),
		lines, stat, byID,
	}
}

func (a *api) contentByID(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	f, o, err := a.svc.OpenID(r.Context(), access, r.PathValue("id"))
	if err != nil {
		return err
	}
	return contenthttp.Serve(w, r, f, o)
}

func (a *api) contentByPath(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	path, err := pathOf(r)
	if err != nil {
		return err
	}
	f, o, err := a.svc.OpenPath(r.Context(), access, path)
	if err != nil {
		return err
	}
	return contenthttp.Serve(w, r, f, o)
}

func (a *api) contentByCID(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	f, o, err := a.svc.OpenCID(r.Context(), access, r.PathValue("cid"))
	if err != nil {
		return err
	}
	return contenthttp.Serve(w, r, f, o)
}

func (a *api) readLines(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	offset, err := number(r, "offset", 1, 1, 1<<30)
	if err != nil {
		return err
	}
	limit, err := number(r, "limit", 1, filetext.DefaultLines, filetext.MaxLines)
	if err != nil {
		return err
	}
	l, err := a.text.ReadLines(r.Context(), access, r.PathValue("id"), filetext.Window{Offset: offset, Limit: limit})
	if err != nil {
		return err
	}
	contenthttp.Describe(w.Header(), l.File)
	return httpserver.WriteJSON(w, http.StatusOK, LineWindow{l.Text, l.Offset, l.Count, l.More, l.Total})
}

func (a *api) stat(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	path, err := pathOf(r)
	if err != nil {
		return err
	}
	f, err := a.svc.Stat(r.Context(), access, path)
	return a.file(w, r, f, err)
}

func (a *api) statID(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	f, err := a.svc.StatID(r.Context(), access, r.PathValue("id"))
	return a.file(w, r, f, err)
}

// file answers with a file's description.
func (a *api) file(w http.ResponseWriter, r *http.Request, f filestore.File, err error) error {
	if err != nil {
		return err
	}
	contenthttp.Describe(w.Header(), f)
	if contenthttp.NotModified(r, f) && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return httpserver.WriteJSON(w, http.StatusOK, a.metadata(r, f))
}

func (a *api) publicRoutes() []httpserver.Route {
	return []httpserver.Route{{
		Method: http.MethodGet, Pattern: "/public/id/{id}", Summary: "Read a public file", Tags: []string{"Files"},
		Auth: httpserver.Public, Limit: httpserver.LimitContent,
		Params: []httpserver.Param{{Name: "id", In: "path", Required: true, Doc: "Public identifier."}}, Stream: true,
		Replies: contentReplies,
		Handler: func(w http.ResponseWriter, r *http.Request) error {
			f, o, err := a.svc.OpenPublic(r.Context(), r.PathValue("id"))
			if err != nil {
				return err
			}
			return contenthttp.Serve(w, r, f, o)
		},
	}}
}

func pathNumber(r *http.Request, name string) (int64, error) {
	n, err := strconv.ParseInt(r.PathValue(name), 10, 64)
	if err != nil || n < 1 {
		return 0, fault.New(fault.Invalid, "versions are numbered from 1")
	}
	return n, nil
}
