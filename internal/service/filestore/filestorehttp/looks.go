package filestorehttp

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/contenthttp"
)

// Looks shows something of a file to people who have no program for it. The file is
// hostile: whoever implements this reads it apart from the server, and opens it when
// the owner's turn has come.
type Looks interface {
	// Look returns what a document says, as JSON, as much of it as is seen at once.
	Look(ctx context.Context, owner, name, mediaType string, open func() ([]byte, error)) (json.RawMessage, error)
	// Thumbnail returns a JPEG or PNG whose longer side is edge pixels.
	Thumbnail(ctx context.Context, owner string, edge int, open func() ([]byte, error)) ([]byte, error)
}

const (
	// maxLook is the size of the largest file that is looked at.
	maxLook = 32 << 20
	// thumbnailEdge is sharp in a row of a list, also where a point is three pixels.
	thumbnailEdge = 120
)

// DocumentLook is what a document says: headings, paragraphs, lists, tables and code.
type DocumentLook struct {
	Format string           `json:"format"`
	Title  string           `json:"title,omitempty"`
	Pages  int              `json:"pages,omitempty"`
	Blocks []map[string]any `json:"blocks"`
	Notes  []string         `json:"notes,omitempty"`
}

func (a *api) lookRoutes() []httpserver.Route {
	if a.deps.Looks == nil {
		return nil
	}
	route := func(pattern, summary string, h handler, reply httpserver.Reply,
		params ...httpserver.Param,
	) httpserver.Route {
		return httpserver.Route{
			Method: http.MethodGet, Pattern: prefix + pattern, Summary: summary, Tags: []string{"Files"},
			Auth: httpserver.Principal, Params: append([]httpserver.Param{idParam}, params...), Handler: a.with(h),
			Replies: []httpserver.Reply{
				reply,
				{Status: 304, Doc: "If-None-Match names the current CID."},
				{Status: 400, Doc: "Nothing can be shown of the file; the message says why."},
			},
		}
	}
	return []httpserver.Route{
		route("/files/{id}/document", "Read what a document says: PDF, DOCX, ODT, XLSX, EPUB, HTML, CSV, Markdown", a.document,
			httpserver.Reply{Status: 200, Body: DocumentLook{}},
			httpserver.Param{Name: "version", In: "query", Schema: 0, Doc: "The newest unless given."}),
		route("/files/{id}/thumbnail", "Read a picture made small", a.thumbnail,
			httpserver.Reply{Status: 200, Media: "image/*", Doc: "JPEG, or PNG where something can be seen through."}),
	}
}

func (a *api) document(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	version, err := number(r, "version", 1, 0, 1<<30)
	if err != nil {
		return err
	}
	var f filestore.File
	var o *filestore.Opened
	if version > 0 {
		f, o, err = a.svc.OpenVersion(r.Context(), access, r.PathValue("id"), int64(version))
	} else {
		f, o, err = a.svc.OpenID(r.Context(), access, r.PathValue("id"))
	}
	if done, err := look(w, r, f, err); done || err != nil {
		return err
	}
	said, err := a.deps.Looks.Look(r.Context(), access.Namespace, f.Name, f.MimeType, whole(o))
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, said)
}

func (a *api) thumbnail(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	f, o, err := a.svc.OpenID(r.Context(), access, r.PathValue("id"))
	if done, err := look(w, r, f, err); done || err != nil {
		return err
	}
	small, err := a.deps.Looks.Thumbnail(r.Context(), access.Namespace, thumbnailEdge, whole(o))
	if err != nil {
		return err
	}
	// It is ours, and one of two kinds.
	kind := http.DetectContentType(small)
	if kind != "image/jpeg" && kind != "image/png" {
		return fault.New(fault.Invalid, "nothing can be shown of this file")
	}
	w.Header().Set("Content-Type", kind)
	_, err = w.Write(small)
	return err
}

// look tells whoever has seen the same content that it is the same.
func look(w http.ResponseWriter, r *http.Request, f filestore.File, err error) (done bool, _ error) {
	if err != nil {
		return false, err
	}
	if f.Size > maxLook {
		return false, fault.Newf(fault.Invalid, "nothing is shown of files that are larger than %d MiB", maxLook>>20)
	}
	w.Header().Set("Etag", `"`+f.CID+`"`)
	w.Header().Set("Cache-Control", "private, no-cache")
	if !contenthttp.NotModified(r, f) {
		return false, nil
	}
	w.WriteHeader(http.StatusNotModified)
	return true, nil
}

// whole reads a content when it is called.
func whole(o *filestore.Opened) func() ([]byte, error) {
	return func() ([]byte, error) {
		r, err := o.Range(0, -1)
		if err != nil {
			return nil, err
		}
		defer func() { _ = r.Close() }()
		data := make([]byte, o.Size())
		_, err = io.ReadFull(r, data)
		return data, err
	}
}
