package filestorehttp

import (
	"context"
	"net/http"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/carimport"
)

// ImportResult says what became of an archive: Files are the first of Count, and More
// tells that there are others.
type ImportResult struct {
	Root  string         `json:"root"`
	Count int            `json:"count"`
	Bytes int64          `json:"bytes"`
	Files []ImportedFile `json:"files"`
	More  bool           `json:"more,omitempty"`
}

// ImportedFile is a file of an archive.
type ImportedFile struct {
	Path string `json:"path"`
	CID  string `json:"cid"`
	// From is the CID in the archive, where it is another one.
	From      string `json:"from,omitempty"`
	Size      int64  `json:"size"`
	Unchanged bool   `json:"unchanged,omitempty"`
}

func (a *api) importRoutes() []httpserver.Route {
	if a.deps.Import == nil {
		return nil
	}
	return []httpserver.Route{{
		Method: http.MethodPost, Pattern: prefix + "/import", Summary: "Take in a CAR", Tags: []string{"Files"}, Auth: httpserver.Principal,
		Doc: "Every block is checked. UnixFS files and folders become files below the path; `as=blocks` keeps the archive as one file whose blocks the IPFS gateway serves. An import that was cut short is finished by repeating it. The answer names the first thousand files; `more` says that there are others.",
		Params: []httpserver.Param{
			{Name: "path", In: "query", Doc: "Folder below which the files go, or the file when the root is one, or with `as=blocks` where the archive is kept; / when absent."},
			{Name: "as", In: "query", Doc: "`files` (which is usual) or `blocks`."},
			{Name: "overwrite", In: "query", Doc: "true: files that are there get new versions."},
		},
		Stream: true, MaxBody: -1, BodyMedia: []string{"application/vnd.ipld.car"}, // the service bounds the body
		Replies: []httpserver.Reply{{Status: 201, Body: ImportResult{}}}, Handler: a.held(a.importCAR),
	}}
}

func (a *api) importCAR(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	overwrite := r.URL.Query().Get("overwrite")
	if overwrite != "" && overwrite != "true" && overwrite != "false" {
		return fault.New(fault.Invalid, "overwrite is true or false")
	}
	var work func(context.Context, filestore.Access, carimport.Archive) (carimport.Imported, error)
	switch r.URL.Query().Get("as") {
	case "", "files":
		work = a.deps.Import.Unpack
	case "blocks":
		work = a.deps.Import.Keep
	default:
		return fault.New(fault.Invalid, "as is files or blocks")
	}
	done, err := work(r.Context(), access, carimport.Archive{
		Path: r.URL.Query().Get("path"), Body: r.Body, Size: max(r.ContentLength, 0), Overwrite: overwrite == "true",
	})
	if err != nil {
		return err
	}
	out := ImportResult{
		Root: done.Root, Count: done.Count, Bytes: done.Bytes, Files: make([]ImportedFile, 0, len(done.Files)),
		More: done.Count > len(done.Files),
	}
	for _, f := range done.Files {
		file := ImportedFile{Path: f.Path, CID: f.CID, Size: f.Size, Unchanged: f.Unchanged}
		if f.From != f.CID {
			file.From = f.From
		}
		out.Files = append(out.Files, file)
	}
	ratelimit.HoldingOf(r.Context()).Keep(done.Named)
	return httpserver.WriteJSON(w, http.StatusCreated, out)
}
