package filestoremcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/folder"
	"github.com/castalia-org/castalia/internal/service/filestore/search"
)

type listIn struct {
	Path   string `json:"path,omitempty" jsonschema:"folder, / when absent"`
	Offset int    `json:"offset,omitempty" jsonschema:"entries to leave out"`
}

type countOut struct {
	Count int  `json:"count"`
	More  bool `json:"more,omitempty"`
}

type globIn struct {
	Pattern string `json:"pattern" jsonschema:"* and ? stay inside a path segment, ** crosses them; for example /notes/**/*.md"`
	Offset  int    `json:"offset,omitempty" jsonschema:"matches to leave out"`
}

type searchIn struct {
	Q    string `json:"q" jsonschema:"words that must all occur"`
	Path string `json:"path,omitempty" jsonschema:"folder to search below"`
}

type grepIn struct {
	Q          string `json:"q" jsonschema:"text to find, literally unless regex is set"`
	Path       string `json:"path,omitempty" jsonschema:"folder to search below"`
	Regex      bool   `json:"regex,omitempty" jsonschema:"q is a regular expression (RE2)"`
	IgnoreCase bool   `json:"ignoreCase,omitempty"`
	Context    int    `json:"context,omitempty" jsonschema:"lines to show around a match, at most 10"`
}

type cidsIn struct {
	Limit  int `json:"limit,omitempty" jsonschema:"files to list, 50 unless given, at most 200"`
	Offset int `json:"offset,omitempty" jsonschema:"files to leave out"`
}

// listPage is how many entries of a folder one call shows.
const listPage = 500

func (h *handler) addFindTools(s *mcp.Server, shown filestore.Ability, cidsOnly bool) {
	add(s, shown, cidsOnly, tool{
		name: "vfs_list", title: "List a folder", need: filestore.List, readOnly: true,
		description: "List the files and folders directly inside a folder. Folders end in /.",
	}, h.list)
	add(s, shown, cidsOnly, tool{
		name: "vfs_glob", title: "Find files by name", need: filestore.List, readOnly: true,
		description: "Find files whose path matches a pattern. A pattern without wildcards tells whether one file exists.",
	}, h.glob)
	add(s, shown, cidsOnly, tool{
		name: "vfs_search", title: "Search by words", need: filestore.Read, readOnly: true,
		description: "Find text files that contain all the words, best first, with the lines where they stand. New files appear within seconds.",
	}, h.search)
	add(s, shown, cidsOnly, tool{
		name: "vfs_grep", title: "Search the text itself", need: filestore.Read, readOnly: true,
		description: "Find files that contain an exact text or match a regular expression. Slower than vfs_search: narrow it with path.",
	}, h.grep)
	add(s, shown, cidsOnly, tool{
		name: "vfs_list_cids", title: "List files by CID", need: filestore.Read, readOnly: true, byCID: true,
		description: "List the files that can be read by CID: one line a file, as: cid path (size).",
	}, h.listCIDs)
}

func (h *handler) list(ctx context.Context, a filestore.Access, in listIn) (string, countOut, error) {
	skip := max(in.Offset, 0)
	nodes, next, err := h.deps.Folders.Tree(ctx, a, in.Path, "")
	found := len(nodes) > 0
	for ; next != "" && err == nil && len(nodes) <= skip+listPage; found = true {
		past := min(skip, len(nodes)) // what lies before the page is not kept
		skip -= past
		var page []folder.Node
		page, next, err = h.deps.Folders.Tree(ctx, a, in.Path, next)
		nodes = append(nodes[past:], page...)
	}
	if err != nil {
		return "", countOut{}, err
	}
	path := in.Path
	if path == "" {
		path = "/"
	}
	if !found {
		return fmt.Sprintf("`%s` is empty or does not exist.", path), countOut{}, nil
	}
	nodes = nodes[min(skip, len(nodes)):]
	more := len(nodes) > listPage
	nodes = nodes[:min(len(nodes), listPage)]
	var b strings.Builder
	fmt.Fprintf(&b, "Contents of `%s`:\n", path)
	for _, n := range nodes {
		if n.IsFolder {
			fmt.Fprintf(&b, "- %s/\n", n.Path)
			continue
		}
		fmt.Fprintf(&b, "- %s\n", n.Path)
	}
	if more {
		fmt.Fprintf(&b, "… more entries. Call vfs_list again with offset=%d to continue.\n", max(in.Offset, 0)+listPage)
	}
	return b.String(), countOut{len(nodes), more}, nil
}

func (h *handler) glob(ctx context.Context, a filestore.Access, in globIn) (string, countOut, error) {
	files, cut, err := h.find.Glob(ctx, a, in.Pattern, filestore.Page{Limit: filestore.MaxPage, Offset: max(in.Offset, 0)})
	if err != nil {
		return "", countOut{}, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d match(es):\n", len(files))
	for _, f := range files {
		b.WriteString(f.Path + "\n")
	}
	more := len(files) == filestore.MaxPage
	switch {
	case more:
		fmt.Fprintf(&b, "… perhaps more. Call vfs_glob again with offset=%d to continue.\n", max(in.Offset, 0)+len(files))
	case cut != "":
		fmt.Fprintf(&b, "… %s. Begin the pattern with a folder.\n", cut)
	}
	return b.String(), countOut{len(files), more || cut != ""}, nil
}

type searchOut struct {
	Count          int   `json:"count"`
	IndexedThrough int64 `json:"indexedThrough"`
	Behind         int64 `json:"behind,omitempty"`
}

func (h *handler) search(ctx context.Context, a filestore.Access, in searchIn) (string, searchOut, error) {
	r, err := h.find.Search(ctx, a, in.Q, in.Path, 20)
	if err != nil {
		return "", searchOut{}, err
	}
	out := searchOut{len(r.Hits), r.IndexedThrough, r.Behind}
	var b strings.Builder
	if r.Behind > 0 {
		fmt.Fprintf(&b, "(%d recent changes are not searchable yet)\n", r.Behind)
	}
	for _, cut := range r.Cut {
		fmt.Fprintf(&b, "(%s)\n", cut)
	}
	if len(r.Hits) == 0 {
		return b.String() + "No matching files.", out, nil
	}
	fmt.Fprintf(&b, "Found %d file(s):\n", len(r.Hits))
	for i, hit := range r.Hits {
		fmt.Fprintf(&b, "%d. %s", i+1, hit.File.Path)
		if hit.LineStart > 0 {
			fmt.Fprintf(&b, " (lines %d-%d)", hit.LineStart, hit.LineEnd)
		}
		b.WriteByte('\n')
		for line := range strings.SplitSeq(strings.TrimSpace(hit.Preview), "\n") {
			if line != "" {
				b.WriteString("   > " + line + "\n")
			}
		}
	}
	b.WriteString("Read one with vfs_read (offset is the first line).")
	return b.String(), out, nil
}

func (h *handler) grep(ctx context.Context, a filestore.Access, in grepIn) (string, countOut, error) {
	r, err := h.find.Grep(ctx, a, search.GrepQuery{
		Term: in.Q, Path: in.Path, Limit: filestore.DefaultPage, Regexp: in.Regex, IgnoreCase: in.IgnoreCase,
		Context: in.Context,
	})
	if err != nil {
		return "", countOut{}, err
	}
	out := countOut{len(r.Matches), len(r.Cut) > 0}
	var b strings.Builder
	for _, cut := range r.Cut {
		fmt.Fprintf(&b, "(not all was searched: %s; narrow it with path)\n", cut)
	}
	if len(r.Matches) == 0 {
		return b.String() + "No matching files.", out, nil
	}
	fmt.Fprintf(&b, "Found %d file(s):\n", len(r.Matches))
	for i, m := range r.Matches {
		fmt.Fprintf(&b, "%d. %s (%d line(s))\n", i+1, m.File.Path, m.Count)
		for _, l := range m.Lines {
			mark := ":"
			if l.Context {
				mark = "-"
			}
			fmt.Fprintf(&b, "%6d%s %s\n", l.Number, mark, l.Text)
		}
	}
	b.WriteString("Read one with vfs_read (offset is the first line).")
	return b.String(), out, nil
}

type cidsOut struct {
	Count int   `json:"count"`
	Total int64 `json:"total"`
}

func (h *handler) listCIDs(ctx context.Context, a filestore.Access, in cidsIn) (string, cidsOut, error) {
	limit := in.Limit
	if limit <= 0 {
		limit = filestore.DefaultPage
	}
	files, total, err := h.svc.CIDs(ctx, a,
		filestore.Page{Limit: min(limit, filestore.MaxPage), Offset: max(in.Offset, 0)})
	if err != nil {
		return "", cidsOut{}, err
	}
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "%s %s (%d)\n", f.CID, f.Path, f.Size)
	}
	if b.Len() == 0 {
		b.WriteString("No files.")
	}
	if next := int64(max(in.Offset, 0) + len(files)); next < total {
		fmt.Fprintf(&b, "… %d more. Call vfs_list_cids again with offset=%d to continue.\n", total-next, next)
	}
	return b.String(), cidsOut{len(files), total}, nil
}
