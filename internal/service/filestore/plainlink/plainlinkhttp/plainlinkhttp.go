// Package plainlinkhttp serves plain links at /s: pages for browsers, and the bytes
// themselves for programs, at the same addresses.
//
// It promises pages without scripts and without anything from elsewhere, in the reader's
// language (platform/words), that no page counts as a reading and every download does,
// and that addresses go to no other site (Referrer-Policy). A stored file is never run
// on our origin. By a link for uploads files come from forms and as bodies of PUT; their
// senders see nothing of the folder, also not under which name a file is kept.
package plainlinkhttp

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/words/wordshttp"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/contenthttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filename"
	"github.com/castalia-org/castalia/internal/service/filestore/folder"
	"github.com/castalia-org/castalia/internal/service/filestore/plainlink"
)

// Prefix is where plain links are.
const Prefix = "/s"

// Deps are what the surface needs besides the service.
type Deps struct {
	Folders *folder.Service
	BaseURL string // how clients reach us; empty: as the request says
	// Admit says whether the owner of a link may come in.
	Admit func(ctx context.Context, did string) error
	Pages wordshttp.Speaker
}

// Surface returns the routes.
func Surface(s *filestore.Service, d Deps) httpserver.Surface {
	a := &api{svc: s, links: plainlink.New(s, d.Admit), folders: d.Folders, baseURL: d.BaseURL, pages: d.Pages}
	routes := a.uploadRoutes()
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		for _, pattern := range []string{"/{secret}", "/{secret}/{path...}"} {
			params := []httpserver.Param{secretParam}
			if pattern != "/{secret}" {
				params = append(params, httpserver.Param{Name: "path", In: "path", Required: true, Doc: "The file's name, or a path below the folder."})
			}
			routes = append(routes, httpserver.Route{
				Method: method, Pattern: Prefix + pattern, Summary: "Open a plain link", Tags: []string{"Files"},
				Auth: httpserver.Public, Limit: httpserver.LimitContent,
				Doc: "A browser gets a page; other programs, and `?dl=1`, get the file, which counts as a use of the link. Folders are always pages. " +
					"A link for uploads is a page with a form.",
				Params: append(params, httpserver.Param{Name: "dl", In: "query", Doc: "1: the file itself, also for browsers."},
					httpserver.Param{Name: "qr", In: "query", Doc: "1: a QR code of the link's address, as SVG."}),
				Stream: true, Hidden: method == http.MethodHead,
				Replies: []httpserver.Reply{{Status: 200, Media: "application/octet-stream"}}, Handler: a.open,
			})
		}
	}
	return httpserver.Surface{
		Name: "plainlinks", Doc: "Share links that any browser and any program can open. The address is the secret.",
		Routes: routes, Prefixes: []string{Prefix}, Errors: contenthttp.Errors,
	}
}

var secretParam = httpserver.Param{Name: "secret", In: "path", Required: true, Doc: "The link's secret."}

type api struct {
	svc     *filestore.Service
	links   *plainlink.Service
	folders *folder.Service
	baseURL string
	pages   wordshttp.Speaker
}

func (a *api) open(w http.ResponseWriter, r *http.Request) error { return a.answer(w, r, a.serve) }

// answer keeps addresses here, and tells people on a page that a link is over.
func (a *api) answer(w http.ResponseWriter, r *http.Request, serve httpserver.Handler) error {
	h := w.Header()
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Robots-Tag", "noindex, nofollow")
	h.Set("Vary", "Accept")
	err := serve(w, r)
	if err == nil || !forPeople(r) {
		return err
	}
	e := fault.From(err)
	switch e.Kind {
	case fault.NotFound, fault.Gone:
	case fault.Forbidden: // the last use was taken between the look and the reading
		if e.Code != "link_over" {
			return err
		}
	default:
		return err
	}
	in := a.pages.Choose(w, r)
	return writePage(w, r, httpserver.Status(e.Kind), page{Page: in, Title: in.Say("links.nowhere"), Text: in.Say(whyOver(err))})
}

// whyOver names the text that says why a link leads nowhere.
func whyOver(err error) string {
	if fault.Is(err, fault.NotFound) {
		return "links.none"
	}
	if over, ok := errors.AsType[*plainlink.OverError](err); ok {
		switch over.State {
		case "used up":
			return "links.usedUp"
		case "expired":
			return "links.expired"
		case "ended":
			return "links.ended"
		}
	}
	return "links.over"
}

// serve sends what the address names: a file, or a page about a file or a folder.
func (a *api) serve(w http.ResponseWriter, r *http.Request) error {
	link, err := a.links.Open(r.Context(), r.PathValue("secret"))
	if err != nil {
		return err
	}
	if r.URL.Query().Get("qr") == "1" {
		return a.drawCode(w, r)
	}
	if plainlink.TakesUploads(link.Share) {
		return a.showForm(w, r, http.StatusOK, link, a.pages.Choose(w, r), uploadPage{})
	}
	at, isFile, err := a.place(r, link)
	if err != nil {
		return err
	}
	if !isFile {
		return a.showFolder(w, r, link, at)
	}
	f, o, err := a.svc.OpenPath(r.Context(), link.Access, at)
	if err != nil {
		return err
	}
	if forPeople(r) && r.URL.Query().Get("dl") != "1" {
		in := a.pages.Choose(w, r)
		p := filePage(in, link, f, r.PathValue("secret"), a.svc.Now())
		if p.QR, err = a.code(r, in.Say("links.code")); err != nil {
			return err
		}
		return writePage(w, r, http.StatusOK, p)
	}
	return contenthttp.Serve(w, r, f, o)
}

// place finds what is meant below the link, and whether it is a file. The name
// behind the secret of a file's link is for those who save it: it must be right.
func (a *api) place(r *http.Request, link plainlink.Link) (at string, isFile bool, err error) {
	rest := strings.Trim(r.PathValue("path"), "/")
	_, err = a.svc.Stat(r.Context(), link.Access, link.Path)
	switch {
	case err == nil && rest != "" && rest != path.Base(link.Path):
		return "", false, filestore.NotFound()
	case err == nil:
		return link.Path, true, nil
	case !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Invalid): // "/" is no file
		return "", false, err
	}
	if rest == "" {
		return link.Path, false, nil
	}
	at, err = filename.CleanFolder(strings.TrimSuffix(link.Path, "/") + "/" + rest)
	if err != nil {
		return "", false, filestore.NotFound()
	}
	if _, err = a.svc.Stat(r.Context(), link.Access, at); err == nil {
		return at, true, nil
	}
	if !fault.Is(err, fault.NotFound) {
		return "", false, err
	}
	return at, false, nil
}

func (a *api) showFolder(w http.ResponseWriter, r *http.Request, link plainlink.Link, at string) error {
	if at != "/" {
		if _, err := a.folders.At(r.Context(), link.Access, at); err != nil {
			return err
		}
	}
	nodes, next, err := a.folders.Page(r.Context(), link.Access, at, "")
	if err != nil {
		return err
	}
	in := a.pages.Choose(w, r)
	p := page{Page: in, Title: path.Base(at), Named: true, Note: until(in, link, a.svc.Now()), More: next != ""}
	if p.QR, err = a.code(r, in.Say("links.code")); err != nil {
		return err
	}
	if at == "/" {
		p.Title, p.Named = in.Say("links.files"), false
	}
	below := func(place string) string { // the address of a place that is not above the link's
		return address(r.PathValue("secret"), strings.TrimPrefix(place, strings.TrimSuffix(link.Path, "/")))
	}
	if at != link.Path {
		p.Entries = append(p.Entries, entry{Name: "↑ " + path.Base(path.Dir(at)), Href: below(path.Dir(at)) + in.Asked})
	}
	for _, n := range nodes {
		e := entry{Name: n.Name, Href: below(n.Path)}
		if n.IsFolder {
			e.Name, e.Href = e.Name+"/", e.Href+"/"
		} else {
			e.Size = in.Size(n.File.Size)
		}
		e.Href += in.Asked
		p.Entries = append(p.Entries, e)
	}
	return writePage(w, r, http.StatusOK, p)
}

// address is where something below a link is.
func address(secret, below string) string {
	return (&url.URL{Path: Prefix + "/" + secret + "/" + strings.TrimPrefix(below, "/")}).EscapedPath()
}

// forPeople reports whether a page is wanted: browsers name HTML, and programs that
// fetch files do not.
func forPeople(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}
