package filestorehttp

import (
	"mime"
	"net/http"
	"net/textproto"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/contenthttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filetext"
)

// EditBody is the body of an edit.
type EditBody struct {
	OldString  string `json:"oldString"`
	NewString  string `json:"newString"`
	ReplaceAll bool   `json:"replaceAll,omitempty"`
	DryRun     bool   `json:"dryRun,omitempty"`
}

func (a *api) writeRoutes() []httpserver.Route {
	keep := httpserver.Param{Name: "keep", In: "query", Schema: 0, Doc: "How many versions stay; the namespace's setting unless given."}
	route := func(method, pattern, summary string, h handler, params ...httpserver.Param) httpserver.Route {
		return httpserver.Route{
			Method: method, Pattern: prefix + pattern, Summary: summary, Tags: []string{"Files"}, Auth: httpserver.Principal,
			Params: append(params, onceParam, matchParam), Handler: a.with(h),
			Replies: []httpserver.Reply{
				{Status: 200, Body: FileMetadata{}},
				{Status: 409, Doc: "Conflict; the body names the current cid and version."},
				{Status: 412, Doc: "If-Match or If-None-Match does not hold."},
			},
		}
	}
	upload := func(rt httpserver.Route) httpserver.Route {
		rt.BodyMedia, rt.MaxBody, rt.Stream = []string{"*/*", contenthttp.FormMedia}, -1, true // the service bounds the body
		rt.Params = append(rt.Params, httpserver.Param{Name: "Content-Digest", In: "header", Doc: "Or Repr-Digest (RFC 9530, sha-256 and sha-512), or Content-MD5: bytes that do not match are 400 digest_mismatch, and nothing is stored."})
		rt.Doc = "The body is the file. Of a form (multipart/form-data) the parts with a filename are the files: with a path that ends in a slash, or none, " +
			"each goes by its filename, and several answer as a list; a field path before them says the same as the parameter. The first that cannot be stored ends it, and the error lists what was stored."
		rt.Replies = append(rt.Replies, httpserver.Reply{Status: 201, Body: FileMetadata{}},
			httpserver.Reply{Status: 413, Doc: "The file is too large."},
			httpserver.Reply{Status: 507, Doc: "The namespace's quota is used up (`quota_exceeded`), or the store is full."})
		return rt
	}
	edit := route(http.MethodPatch, "/files/{id}/edit", "Replace text in a file", a.edit, idParam)
	edit.Handler = a.held(a.edit)
	edit.Body, edit.MaxBody = EditBody{}, 24<<20
	edit.Replies[0].Body = EditResult{}
	publish := route(http.MethodPatch, "/files/{id}/public", "Make a file public, or end that", a.publish, idParam, publicParam)
	publish.Replies[0].Body, publish.Body, publish.MaxBody = PublicState{}, PublicFlag{}, maxFlagBody
	return []httpserver.Route{
		upload(route(http.MethodPost, "/files", "Create a file", a.create, intoParam)),
		upload(route(http.MethodPut, "/files/{id}", "Store a new version of a file", a.replace, idParam, keep)),
		upload(route(http.MethodPut, "/content", "Create or replace the file at a path", a.put, intoParam, keep)),
		edit, publish,
		route(http.MethodDelete, "/content", "Move the file at a path to the trash", a.remove, pathParam),
		route(http.MethodDelete, "/files/{id}", "Move a file to the trash", a.remove, idParam),
	}
}

// PublicFlag is the body that publishes, or ends that.
type PublicFlag struct {
	Public bool `json:"public"`
}

// mediaType is what the sender says of the body: two of them are a list. A form
// is what curl says of every body that it was not told about: it counts as
// nothing said.
func mediaType(r *http.Request) string {
	said := strings.Join(r.Header.Values("Content-Type"), ", ")
	if m, _, err := mime.ParseMediaType(said); err == nil && m == "application/x-www-form-urlencoded" {
		return ""
	}
	return said
}

// store reads the body into a new version and answers with it.
func (a *api) store(w http.ResponseWriter, r *http.Request, access filestore.Access, p filestore.Put) error {
	var err error
	if p.If, err = contenthttp.Condition(r); err != nil {
		return err
	}
	keep, err := number(r, "keep", 1, 0, 10_000)
	if err != nil {
		return err
	}
	p.Keep, p.Once = int64(keep), once(r, access)
	if contenthttp.IsForm(r) {
		return a.storeForm(w, r, access, p)
	}
	if p.FileID == "" && p.Path == "" {
		return errNoPath()
	}
	if p.Body, err = contenthttp.Digested(textproto.MIMEHeader(r.Header), r.Body); err != nil {
		return err
	}
	p.MimeType, p.Size = mediaType(r), max(r.ContentLength, 0)
	receipt, err := a.svc.Put(r.Context(), access, p)
	if err != nil {
		return err
	}
	return a.stored(w, r, receipt)
}

// stored answers with the file that was stored.
func (a *api) stored(w http.ResponseWriter, r *http.Request, receipt filestore.Receipt) error {
	contenthttp.Describe(w.Header(), receipt.File)
	status := http.StatusOK
	if receipt.Created {
		status = http.StatusCreated
		w.Header().Set("Location", prefix+"/files/"+receipt.File.ID+"/content")
	}
	return httpserver.WriteJSON(w, status, a.metadata(r, receipt.File))
}

func (a *api) create(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	return a.store(w, r, access, filestore.Put{Path: r.URL.Query().Get("path"), Mode: filestore.CreateOnly})
}

func (a *api) put(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	return a.store(w, r, access, filestore.Put{Path: r.URL.Query().Get("path"), Mode: filestore.Upsert})
}

func (a *api) replace(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	return a.store(w, r, access, filestore.Put{FileID: r.PathValue("id"), Mode: filestore.ReplaceOnly})
}

func (a *api) edit(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	var body EditBody
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	c, err := contenthttp.Condition(r)
	if err != nil {
		return err
	}
	o, err := bind(once(r, access), body)
	if err != nil {
		return err
	}
	e, err := a.text.Edit(r.Context(), access, filetext.Edit{
		FileID: r.PathValue("id"), Old: body.OldString, New: body.NewString, All: body.ReplaceAll, DryRun: body.DryRun, If: c,
		Once: o,
	})
	if err != nil {
		return err
	}
	contenthttp.Describe(w.Header(), e.File)
	return httpserver.WriteJSON(w, http.StatusOK, EditResult{a.metadata(r, e.File), e.Replacements, e.Diff, body.DryRun})
}

// target reads which file is meant and what must hold of it.
func (a *api) target(r *http.Request, access filestore.Access) (filestore.Target, error) {
	c, err := contenthttp.Condition(r)
	t := filestore.Target{ID: r.PathValue("id"), If: c, Once: once(r, access)}
	if t.ID == "" && err == nil {
		t.Path, err = pathOf(r)
	}
	return t, err
}

func (a *api) remove(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	t, err := a.target(r, access)
	if err != nil {
		return err
	}
	receipt, err := a.svc.Trash(r.Context(), access, t)
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, a.metadata(r, receipt.File))
}

func (a *api) publish(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	public, err := flag(r, "public")
	if err != nil {
		return err
	}
	t, err := a.target(r, access)
	if err != nil {
		return err
	}
	if t.Once, err = bind(t.Once, public); err != nil {
		return err
	}
	receipt, err := a.svc.SetPublic(r.Context(), access, t, public)
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK,
		PublicState{Public: public, PublicURL: a.metadata(r, receipt.File).PublicURL})
}
