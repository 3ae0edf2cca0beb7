package filestorehttp

import (
	"net/http"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/contenthttp"
)

func (a *api) versionRoutes() []httpserver.Route {
	number := httpserver.Param{Name: "n", In: "path", Required: true, Schema: 0, Doc: "Version, from 1."}
	return []httpserver.Route{
		{
			Method: http.MethodGet, Pattern: prefix + "/files/{id}/versions", Summary: "List a file's versions, newest first", Tags: []string{"Files"},
			Auth: httpserver.Principal, Params: []httpserver.Param{idParam},
			Replies: []httpserver.Reply{{Status: 200, Body: VersionList{}}}, Handler: a.with(a.versions),
		},
		{
			Method: http.MethodGet, Pattern: prefix + "/files/{id}/versions/{n}/content", Summary: "Read a version", Tags: []string{"Files"},
			Auth: httpserver.Principal, Params: []httpserver.Param{idParam, number, rangeParam}, Stream: true,
			Replies: contentReplies, Handler: a.with(a.versionContent),
		},
		{
			Method: http.MethodPost, Pattern: prefix + "/files/{id}/versions/{n}/restore", Summary: "Make a version's content the newest version", Tags: []string{"Files"},
			Auth: httpserver.Principal, Params: []httpserver.Param{idParam, number, onceParam, matchParam},
			Replies: []httpserver.Reply{{Status: 200, Body: FileMetadata{}}}, Handler: a.with(a.restoreVersion),
		},
		{
			Method: http.MethodPost, Pattern: prefix + "/files/{id}/restore", Summary: "Take a file out of the trash", Tags: []string{"Files"},
			Auth: httpserver.Principal, Params: []httpserver.Param{idParam, {Name: "path", In: "query", Doc: "Where to; its old path unless given."}, onceParam},
			Replies: []httpserver.Reply{{Status: 200, Body: FileMetadata{}}, {Status: 409, Doc: "The path is taken."}},
			Handler: a.with(a.restore),
		},
	}
}

func (a *api) versions(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	all, err := a.svc.Versions(r.Context(), access, r.PathValue("id"))
	if err != nil {
		return err
	}
	out := VersionList{Versions: make([]VersionEntry, 0, len(all))}
	for _, v := range all {
		out.Versions = append(out.Versions, VersionEntry{
			v.Number, v.CID, v.Hash, v.Size, v.MimeType, stamp(v.Created), v.Invoker, v.Actor,
		})
	}
	return httpserver.WriteJSON(w, http.StatusOK, out)
}

func (a *api) versionContent(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	n, err := pathNumber(r, "n")
	if err != nil {
		return err
	}
	f, o, err := a.svc.OpenVersion(r.Context(), access, r.PathValue("id"), n)
	if err != nil {
		return err
	}
	return contenthttp.Serve(w, r, f, o)
}

func (a *api) restoreVersion(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	n, err := pathNumber(r, "n")
	if err != nil {
		return err
	}
	t, err := a.target(r, access)
	if err != nil {
		return err
	}
	receipt, err := a.svc.RestoreVersion(r.Context(), access, t, n)
	return a.file(w, r, receipt.File, err)
}

func (a *api) restore(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	t, err := a.target(r, access)
	if err != nil {
		return err
	}
	receipt, err := a.svc.Restore(r.Context(), access, t, r.URL.Query().Get("path"))
	return a.file(w, r, receipt.File, err)
}
