package filestoredav

import (
	"html/template"
	"net/http"

	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/contenthttp"
)

// listing shows a folder to a browser. It has no script and needs none.
var listing = template.Must(template.New("folder").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{{.Path}}</title></head>
<body><h1>{{.Path}}</h1><ul>
{{if .Up}}<li><a href="{{.Up}}">..</a></li>
{{end}}{{range .Entries}}<li><a href="{{.Href}}">{{.Name}}</a></li>
{{end}}</ul>{{if .More}}<p>There is more than is shown here.</p>{{end}}</body></html>
`))

type listingEntry struct{ Name, Href string }

func (a *api) get(c *call) error {
	if c.path == "/" {
		return a.page(c)
	}
	f, mark, o, err := a.svc.OpenMarked(c.Context(), c.access, c.path)
	if err != nil && !c.access.Has(filestore.Read) {
		// It may see what is there: of a file that it may not read it, of a folder its page.
		if _, seen := a.Folders.File(c.Context(), c.access, c.path); seen != nil {
			err = seen
		}
	}
	if missing(err) {
		if _, err := a.folderAt(c, c.path); err != nil {
			return err
		}
		return a.page(c)
	}
	if err != nil {
		return err
	}
	if !mark.Modified.IsZero() {
		f.Updated = mark.Modified
	}
	return contenthttp.Serve(c.ResponseWriter, c.Request, f, o)
}

func (a *api) page(c *call) error {
	nodes, next, err := a.Folders.Tree(c.Context(), c.access, c.path, "")
	if err != nil {
		return err
	}
	page := struct {
		Path, Up string
		Entries  []listingEntry
		More     bool
	}{Path: c.path, More: next != ""}
	if c.path != "/" {
		page.Up = href(parent(c.path), true)
	}
	for _, n := range nodes {
		name := n.Name
		if n.IsFolder {
			name += "/"
		}
		page.Entries = append(page.Entries, listingEntry{name, href(n.Path, n.IsFolder)})
	}
	h := c.reply()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox allow-top-navigation-by-user-activation; default-src 'none'; frame-ancestors 'none'")
	h.Set("Cache-Control", "private, no-cache")
	c.WriteHeader(http.StatusOK)
	if c.Method == http.MethodHead {
		return nil
	}
	return gone(listing.Execute(c.ResponseWriter, page))
}
