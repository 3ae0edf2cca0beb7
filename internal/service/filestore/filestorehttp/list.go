package filestorehttp

import (
	"net/http"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/folder"
	"github.com/castalia-org/castalia/internal/service/filestore/search"
)

func (a *api) listRoutes() []httpserver.Route {
	where := httpserver.Param{Name: "path", In: "query", Doc: "Folder; / when absent."}
	term := httpserver.Param{Name: "q", In: "query", Required: true, Doc: "At most 512 characters."}
	get := func(pattern, summary string, h httpserver.Handler, body any, params ...httpserver.Param) httpserver.Route {
		return httpserver.Route{
			Method: http.MethodGet, Pattern: prefix + pattern, Summary: summary, Tags: []string{"Files"},
			Auth:   httpserver.Principal,
			Params: params, Replies: []httpserver.Reply{{Status: 200, Body: body}}, Handler: h,
		}
	}
	return []httpserver.Route{
		get("/tree", "List the direct children of a folder", a.with(a.tree), NodeList{}, where,
			httpserver.Param{Name: "limit", In: "query", Schema: 0, Doc: "About how many entries; ten thousand at most, and when absent."},
			httpserver.Param{Name: "after", In: "query", Doc: "The next of the page before."}),
		get("/files", "List files by the beginning of their path", a.with(a.list), FileList{}, where, limitParam, fromParam, afterParam),
		get("/glob", "Find files by a pattern over their path", a.held(a.glob), FileList{},
			httpserver.Param{Name: "pattern", In: "query", Required: true, Doc: "* and ? stay inside a segment, ** crosses them."}, limitParam, fromParam),
		get("/cids", "List files that can be addressed by CID", a.withCID(a.cids), CIDList{}, limitParam, fromParam, afterParam),
		get("/search", "Find text files by words, with line ranges", a.held(a.search), SearchResult{}, term, where, limitParam),
		get("/grep", "Find text files that contain a term", a.held(a.grep), GrepResult{}, term, where, limitParam),
		get("/trash", "List deleted files", a.with(a.trash), FileList{}, limitParam, fromParam),
	}
}

func (a *api) tree(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	q := r.URL.Query()
	limit, err := number(r, "limit", 1, folder.MaxNodes, folder.MaxNodes)
	if err != nil {
		return err
	}
	nodes, next, err := a.deps.Folders.Part(r.Context(), access, q.Get("path"), q.Get("after"), limit)
	if err != nil {
		return err
	}
	out := NodeList{Nodes: make([]Node, 0, len(nodes)), Next: next}
	for _, n := range nodes {
		if n.IsFolder {
			out.Nodes = append(out.Nodes, Node{Path: n.Path, Name: n.Name, Type: "folder"})
			continue
		}
		f := n.File
		out.Nodes = append(out.Nodes, Node{
			n.Path, n.Name, "file", f.ID, f.MimeType, &f.Size, f.CID, f.Version, stamp(f.Updated),
		})
	}
	return httpserver.WriteJSON(w, http.StatusOK, out)
}

func (a *api) list(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	p, err := page(r)
	if err != nil {
		return err
	}
	p.After = r.URL.Query().Get("after")
	files, err := a.svc.List(r.Context(), access, r.URL.Query().Get("path"), p)
	return a.files(w, r, files, "", err)
}

func (a *api) files(w http.ResponseWriter, r *http.Request, files []filestore.File, cut string, err error) error {
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, FileList{a.metadatas(r, files), cut != "", cut})
}

func (a *api) glob(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	p, err := page(r)
	if err != nil {
		return err
	}
	if p.Limit == 0 {
		return fault.New(fault.Invalid, "limit must be at least 1")
	}
	files, cut, err := a.find.Glob(r.Context(), access, r.URL.Query().Get("pattern"), p)
	return a.files(w, r, files, cut, err)
}

func (a *api) cids(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	p, err := page(r)
	if err != nil {
		return err
	}
	p.After = r.URL.Query().Get("after")
	files, total, err := a.svc.CIDs(r.Context(), access, p)
	if err != nil {
		return err
	}
	out := CIDList{CIDs: make([]CIDEntry, 0, len(files)), Total: total}
	for _, f := range files {
		out.CIDs = append(out.CIDs, CIDEntry{f.CID, f.ID, f.Path, f.Name, f.Size, f.MimeType})
	}
	return httpserver.WriteJSON(w, http.StatusOK, out)
}

func (a *api) trash(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	p, err := page(r)
	if err != nil {
		return err
	}
	files, err := a.svc.Trashed(r.Context(), access, p)
	return a.files(w, r, files, "", err)
}

// SearchHit is a place that matches.
type SearchHit struct {
	Path      string  `json:"path"`
	FileID    string  `json:"fileId"`
	LineStart int     `json:"lineStart,omitempty"`
	LineEnd   int     `json:"lineEnd,omitempty"`
	Preview   string  `json:"preview,omitempty"`
	Score     float64 `json:"score"`
	CID       string  `json:"cid"`
}

// SearchResult says what was found, and how far the index had read.
type SearchResult struct {
	Hits           []SearchHit `json:"hits"`
	Semantic       bool        `json:"semantic"`
	IndexedThrough int64       `json:"indexedThrough"`
	Behind         int64       `json:"behind"`
	// Cut says what was left out, and why.
	Cut []string `json:"cut,omitempty"`
}

func (a *api) search(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	limit, err := number(r, "limit", 1, 20, filestore.DefaultPage)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	found, err := a.find.Search(r.Context(), access, q.Get("q"), q.Get("path"), limit)
	if err != nil {
		return err
	}
	out := SearchResult{
		Hits: make([]SearchHit, 0, len(found.Hits)), IndexedThrough: found.IndexedThrough,
		Behind: found.Behind, Cut: found.Cut,
	}
	for _, h := range found.Hits {
		out.Hits = append(out.Hits, SearchHit{h.File.Path, h.File.ID, h.LineStart, h.LineEnd, h.Preview, h.Score, h.File.CID})
	}
	return httpserver.WriteJSON(w, http.StatusOK, out)
}

// GrepMatch is a file that contains the term, and where.
type GrepMatch struct {
	FileMetadata
	Lines []int `json:"lines"`
}

// GrepResult is what a literal search found.
type GrepResult struct {
	Matches   []GrepMatch `json:"matches"`
	Truncated bool        `json:"truncated,omitempty"`
	// Cut says what was not searched, and why.
	Cut []string `json:"cut,omitempty"`
}

func (a *api) grep(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	limit, err := number(r, "limit", 1, filestore.DefaultPage, filestore.MaxPage)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	found, err := a.find.Grep(r.Context(), access, search.GrepQuery{Term: q.Get("q"), Path: q.Get("path"), Limit: limit})
	if err != nil {
		return err
	}
	out := GrepResult{Matches: make([]GrepMatch, 0, len(found.Matches)), Truncated: len(found.Cut) > 0, Cut: found.Cut}
	for _, m := range found.Matches {
		meta := a.metadata(r, m.File)
		meta.Snippet = m.Snippet()
		match := GrepMatch{FileMetadata: meta}
		for _, l := range m.Lines {
			match.Lines = append(match.Lines, l.Number)
		}
		out.Matches = append(out.Matches, match)
	}
	return httpserver.WriteJSON(w, http.StatusOK, out)
}
