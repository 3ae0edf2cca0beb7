// Package console serves the web console, as it was built into the program,
// under a policy that lets it load nothing from elsewhere.
//
// web/embed.go embeds web/console/dist, of which only .gitkeep is tracked: go build
// works on a clean clone without Node, built files are in no commit, and there is
// no build tag and so no second path. Without a build it serves a page that says how
// to make one.
//
// Decision: ADR 0222.
package console

import (
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/web"
)

// consolePolicy lets the console run its own scripts, wear its own style sheets
// and talk to its own origin, and nothing else; blob: and data: are for previews
// of the user's own files, frames of which are the browser's viewer of PDF (ADR 0264).
const consolePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; " +
	"media-src 'self' blob:; frame-src blob:; font-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

const consoleMissing = `<!doctype html><meta charset="utf-8"><title>Castalia</title><h1>The console was not built</h1>
<p>Run <code>make web</code> (it needs Node) and build the program again. Everything else is served: see <a href="/docs">/docs</a>.</p>`

// Surface returns the console's routes; features answers which of its pages are on.
func Surface(features httpserver.Handler) httpserver.Surface {
	files, built := web.Console()
	serve := func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Content-Security-Policy", consolePolicy)
		w.Header().Set("X-Frame-Options", "DENY")
		if !built {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(http.StatusNotFound)
			_, err := w.Write([]byte(consoleMissing))
			return err
		}
		return serveConsole(w, r, files)
	}
	route := func(pattern string, handler httpserver.Handler) httpserver.Route {
		return httpserver.Route{
			Method: http.MethodGet, Pattern: pattern, Auth: httpserver.Public,
			Limit: httpserver.LimitPages, Hidden: true, Quiet: true, Handler: handler,
		}
	}
	return httpserver.Surface{Name: "console", Routes: []httpserver.Route{
		route("/console", func(w http.ResponseWriter, r *http.Request) error {
			http.Redirect(w, r, "/console/", http.StatusFound)
			return nil
		}),
		route("/console/features.json", features),
		route("/console/", serve),
		route("/console/{path...}", serve),
	}}
}

// serveConsole serves a file, or the page itself for the paths that the page
// makes up, so that a reload anywhere works.
func serveConsole(w http.ResponseWriter, r *http.Request, files fs.FS) error {
	name := strings.TrimPrefix(path.Clean("/"+r.PathValue("path")), "/")
	if info, err := fs.Stat(files, name); err != nil || info.IsDir() {
		if isConsoleFile(name) {
			return fault.New(fault.NotFound, "Cannot GET "+r.URL.Path)
		}
		name = "index.html"
	}
	if strings.HasPrefix(name, "assets/") {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		name = setEncoding(w.Header(), r, files, name)
	} else {
		w.Header().Set("Cache-Control", "no-cache")
	}
	http.ServeFileFS(w, r, files, name)
	return nil
}

// encodings are what the build compresses its files with, smallest first.
var encodings = [...]struct{ name, suffix string }{{"br", ".br"}, {"gzip", ".gz"}}

// setEncoding finds the smallest form of a file that the build made and the
// client takes, says which it is, and returns its name.
func setEncoding(h http.Header, r *http.Request, files fs.FS, name string) string {
	for _, e := range encodings {
		if _, err := fs.Stat(files, name+e.suffix); err != nil {
			continue
		}
		h.Set("Vary", "Accept-Encoding")
		media := mime.TypeByExtension(path.Ext(name))
		if media == "" || !httpserver.AcceptsEncoding(r.Header, e.name) {
			continue
		}
		h.Set("Content-Type", media)
		h.Set("Content-Encoding", e.name)
		return name + e.suffix
	}
	return name
}

// isConsoleFile tells a file of the build from a path that the page made up: a
// folder or a session may well have a dot in its name.
func isConsoleFile(name string) bool {
	folder, file := path.Split(name)
	return strings.Contains(file, ".") && (folder == "" || folder == "assets/")
}
