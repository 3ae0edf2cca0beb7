// Package apidocs shows what a server has mounted: an OpenAPI document made from
// the routes themselves, and a page that reads it.
//
// It promises that every route that is not hidden is in the document, dynamic
// ones as they are at that moment, each with a filled-in example, and that the page asks no
// other host for anything. It refuses nobody: it says what can be asked, not what the answers
// are.
//
// The page is a few files of our own (under 40 KB), because the usual ones are over
// a megabyte of somebody else's script and need inline styles. Text enters it as
// text, never as HTML. What it does not know of OpenAPI (links, callbacks,
// discriminators) is still in /docs-json. page/snippets.js writes requests as programs, from the
// document alone; test/system runs them.
//
// The page sends requests when its reader presses the button, and never else: an address may open
// a route, but fills in nothing. It signs them with the key that the console keeps in the browser,
// by the console's own code (web/console/src/identity/signer.ts), for the right of the chosen
// route and for a minute. Without the console there is no key, and all else works.
package apidocs

import (
	"embed"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/httpserver/steady"
)

// The page is ours, small, and asks no other host for anything.
//
//go:embed page
var pageFiles embed.FS

// pageCSP lets the page run its own script and talk to its own server.
const pageCSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// surfaceName is the surface's name in metrics and in the document.
const surfaceName = "docs"

// Options head the document.
type Options struct {
	Title   string // "Castalia" when empty
	Version string // "0.0.0" when empty
}

// docs keeps the document until a surface has changed.
type docs struct {
	opt      Options
	surfaces func() []httpserver.Surface

	mu       sync.Mutex
	versions []uint64
	doc      []byte
}

// Surface is the documentation of a server's surfaces, itself among them once it
// is mounted. It is public.
func Surface(opt Options, surfaces func() []httpserver.Surface) httpserver.Surface {
	d := &docs{opt: opt, surfaces: surfaces}
	page := func(pattern string) httpserver.Route {
		return httpserver.Route{
			Method: http.MethodGet, Pattern: pattern, Auth: httpserver.Public, Limit: httpserver.LimitPages, Hidden: true,
			Handler: func(w http.ResponseWriter, r *http.Request) error { return servePage(w, r, "index.html") },
		}
	}
	return httpserver.Surface{
		Name: surfaceName, Doc: "What this deployment serves.", CORS: httpserver.OpenCORS("*"),
		Routes: []httpserver.Route{
			page("/docs"), page("/docs/"),
			{
				Method: http.MethodGet, Pattern: "/docs/{file}", Auth: httpserver.Public, Limit: httpserver.LimitPages, Hidden: true,
				Handler: func(w http.ResponseWriter, r *http.Request) error { return servePage(w, r, r.PathValue("file")) },
			},
			{
				Method: http.MethodGet, Pattern: "/docs-json", Auth: httpserver.Public, Limit: httpserver.LimitPages, Summary: "This document",
				Tags:    []string{"Documentation"},
				Doc:     "OpenAPI 3.1, made from the routes that are mounted now.",
				Replies: []httpserver.Reply{{Status: http.StatusOK, Media: "application/json", Doc: "The OpenAPI document"}},
				Handler: d.serveOpenAPI,
			},
		},
	}
}

func servePage(w http.ResponseWriter, r *http.Request, name string) error {
	types := map[string]string{
		"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8",
		"js": "text/javascript; charset=utf-8", "svg": "image/svg+xml",
	}
	_, ext, _ := strings.Cut(name, ".")
	data, err := pageFiles.ReadFile("page/" + name)
	if err != nil || types[ext] == "" {
		return httpserver.NotFound(r)
	}
	h := w.Header()
	h.Set("Content-Security-Policy", pageCSP)
	return steady.Serve(w, r, types[ext], data)
}

func (d *docs) serveOpenAPI(w http.ResponseWriter, r *http.Request) error {
	doc, err := d.cached()
	if err != nil {
		return fault.Wrap(fault.Internal, "The document could not be made", err)
	}
	return steady.Serve(w, r, "application/json; charset=utf-8", doc)
}

func (d *docs) cached() ([]byte, error) {
	surfaces := d.surfaces()
	versions := []uint64{uint64(len(surfaces))}
	for _, sf := range surfaces {
		if sf.Dynamic != nil && sf.Dynamic.Version != nil {
			versions = append(versions, sf.Dynamic.Version())
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.doc != nil && slices.Equal(d.versions, versions) {
		return d.doc, nil
	}
	doc, err := OpenAPI(d.opt, surfaces)
	if err == nil {
		doc, err = withExamples(doc)
	}
	if err != nil {
		return nil, err
	}
	d.doc, d.versions = doc, versions
	return doc, nil
}
