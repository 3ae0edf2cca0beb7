// Package filestoredav serves the file store by WebDAV (RFC 4918, classes 1 and 2)
// under /dav/, for programs that mount or synchronise folders.
//
// It is a reading of the same service as every other face: paths, scopes, versions,
// the trash, quotas and the audit are the service's. It promises that a PUT which
// breaks off leaves no file and no version, that If-Match and If-None-Match hold for
// PUT, that the ETag is the CID, and that a listing of ten thousand files is one
// query. X-OC-Mtime and OC-Checksum are kept and shown, as rclone and others want.
//
// It refuses a PROPFIND of everything below a folder (Depth: infinity), parts of
// files (Content-Range) and destinations on other servers. Locks bind those who come
// by WebDAV.
//
// Decision: ADR 0180.
package filestoredav

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/protocol/webdav"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/contenthttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filename"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoredav/davstate"
	"github.com/castalia-org/castalia/internal/service/filestore/folder"
)

// Deps are what the surface needs besides the service.
type Deps struct {
	// Authenticate puts the principal into the context: app keys by Basic, and tokens
	// (appkeyhttp.Face).
	Authenticate func(httpserver.Handler) httpserver.Handler
	Folders      *folder.Service
	State        davstate.Store
	// Security names the ways in, for the documentation.
	Security []string
}

// prefix is where the files are.
const prefix = "/dav"

// methods are what a resource may be asked.
const methods = "OPTIONS, GET, HEAD, PUT, DELETE, PROPFIND, PROPPATCH, MKCOL, COPY, MOVE, LOCK, UNLOCK"

type api struct {
	Deps
	svc *filestore.Service
}

// Surface returns the routes.
func Surface(s *filestore.Service, d Deps) httpserver.Surface {
	a := &api{d, s}
	options := httpserver.Route{
		Method: http.MethodOptions, Pattern: prefix + "/{path...}", Summary: "Say what WebDAV can do here", Tags: []string{"WebDAV"},
		Auth: httpserver.Public, Limit: httpserver.LimitPages, Hidden: true, Handler: options,
	}
	bare := options
	bare.Pattern = prefix
	routes := []httpserver.Route{options, bare}
	for _, r := range []struct {
		method, summary string
		h               handler
	}{
		{http.MethodGet, "Read a file, or list a folder as a page", a.get},
		{http.MethodHead, "Describe a file", a.get},
		{http.MethodPut, "Store a file", a.put},
		{http.MethodDelete, "Move a file or a folder to the trash", a.remove},
		{"PROPFIND", "List properties", a.propfind},
		{"PROPPATCH", "Change properties", a.proppatch},
		{"MKCOL", "Make a folder", a.mkcol},
		{"COPY", "Copy a file or a folder", a.copyTo},
		{"MOVE", "Move a file or a folder", a.moveTo},
		{"LOCK", "Lock", a.lock},
		{"UNLOCK", "Unlock", a.unlock},
	} {
		route := httpserver.Route{
			Method: r.method, Pattern: prefix + "/{path...}", Summary: r.summary, Tags: []string{"WebDAV"},
			Auth: httpserver.Principal, Security: d.Security,
			Params:  []httpserver.Param{{Name: "path", In: "path", Required: true, Doc: "Path of the file.", Example: "hello.txt"}},
			Replies: []httpserver.Reply{{Status: 200}}, Handler: a.handle(r.h),
		}
		switch r.method {
		case http.MethodGet:
			route.Stream = true
		case http.MethodPut:
			route.Stream, route.MaxBody, route.BodyMedia = true, -1, []string{"*/*"} // the service bounds the body
		case http.MethodDelete:
		default: // OpenAPI has no words for the others
			route.Hidden = true
		}
		routes = append(routes, route)
		if r.method == "PROPFIND" {
			route.Pattern, route.Params = prefix, nil
			routes = append(routes, route)
		}
	}
	return httpserver.Surface{
		Name: "webdav", Doc: "The files by WebDAV (classes 1 and 2), for programs that mount or synchronise folders: an app key is the password, whatever the user's name.",
		Routes: routes, Prefixes: []string{prefix}, Errors: contenthttp.Errors, Authenticate: d.Authenticate,
		Right: httpserver.RightFiles,
	}
}

// options tells clients what they find, before they say who they are: some ask
// first and are lost when they are refused.
func options(w http.ResponseWriter, _ *http.Request) error {
	offer(w.Header())
	w.WriteHeader(http.StatusOK)
	return nil
}

func offer(h http.Header) {
	h.Set("Dav", "1, 2")
	h.Set("Ms-Author-Via", "DAV")
	h.Set("Allow", methods)
}

// call is a request that was read.
type call struct {
	http.ResponseWriter
	*http.Request
	access filestore.Access
	path   string // "/" is the root
	ifs    webdav.If
}

type handler func(c *call) error

// refusal is an answer that WebDAV has its own status or condition for.
type refusal struct {
	status    int
	condition string // the name of an element, or empty
}

func (r refusal) Error() string { return http.StatusText(r.status) + " " + r.condition }

var (
	errLocked     = refusal{http.StatusLocked, "lock-token-submitted"}
	errNotAllowed = fault.New(fault.MethodNotAllowed, "Something of another kind is there.")
	errUnmet      = fault.New(fault.Precondition, "What the request expects does not hold.").WithCode("precondition_failed")
	errNoParent   = fault.New(fault.Conflict, "The folder above is not there: make it first.").WithCode("no_parent")
)

// handle reads what all methods have in common.
func (a *api) handle(h handler) httpserver.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		p, ok := identity.FromContext(r.Context())
		if !ok {
			return fault.New(fault.Unauthenticated, identity.TextMissingBearer)
		}
		c := &call{ResponseWriter: w, Request: r}
		var err error
		if c.access, err = filestore.AccessOf(p); err != nil {
			return err
		}
		if err := a.svc.Admit(r.Context(), c.access); err != nil {
			return err
		}
		if c.path, err = cleanPath(r.PathValue("path")); err != nil {
			return err
		}
		if c.ifs, err = webdav.ParseIf(strings.Join(r.Header.Values("If"), " ")); err != nil {
			return fault.Wrap(fault.Invalid, "The If header is malformed.", err)
		}
		if err := a.holds(c); err != nil {
			return answer(w, err)
		}
		return answer(w, h(c))
	}
}

// answer writes a refusal; other errors are the surface's.
func answer(w http.ResponseWriter, err error) error {
	r, ok := errors.AsType[refusal](err)
	if f, is := errors.AsType[*fault.Error](err); is && f.Code == filestore.CodeLockInTheWay {
		r, ok = errLocked, true // it came while the request was under way
	}
	switch {
	case errors.Is(err, webdav.ErrBody):
		return fault.Wrap(fault.Invalid, err.Error(), err)
	case fault.Is(err, fault.MethodNotAllowed):
		offer(w.Header())
		return err
	case !ok:
		return err
	}
	if r.condition == "" {
		w.WriteHeader(r.status)
		return nil
	}
	w.Header().Set("Content-Type", xmlMedia)
	w.WriteHeader(r.status)
	_, err = w.Write([]byte(xmlHead + `<D:error xmlns:D="DAV:"><D:` + r.condition + `/></D:error>`))
	return gone(err)
}

// gone is what a failure to write an answer means.
func gone(err error) error {
	if err == nil {
		return nil
	}
	return fault.Wrap(fault.Canceled, "the client left", err)
}

const (
	xmlMedia = "application/xml; charset=utf-8"
	xmlHead  = `<?xml version="1.0" encoding="utf-8"?>` + "\n"
)

// cleanPath is the path of what an address names: folders may end with a slash.
func cleanPath(text string) (string, error) { return filename.CleanFolder("/" + text) }

// href is the address of a path.
func href(path string, isFolder bool) string {
	u := url.URL{Path: prefix + path}
	if isFolder && !strings.HasSuffix(path, "/") {
		u.Path += "/"
	}
	return u.EscapedPath()
}

// parent returns the folder that a path is in.
func parent(path string) string {
	at := strings.LastIndexByte(path, '/')
	if at <= 0 {
		return "/"
	}
	return path[:at]
}

// target reads the Destination of a COPY or MOVE.
func (a *api) target(c *call) (string, error) {
	text := c.Header().Get("Destination")
	u, err := url.Parse(text)
	if err != nil || text == "" {
		return "", fault.New(fault.Invalid, "The header Destination is missing or malformed.")
	}
	if u.Host != "" && !strings.EqualFold(u.Host, c.Host) && !sameHost(u, httpserver.PublicBase(c.Request)) {
		return "", refusal{http.StatusBadGateway, ""}
	}
	rest, ok := strings.CutPrefix(u.Path, prefix+"/")
	if !ok {
		return "", refusal{http.StatusBadGateway, ""}
	}
	return cleanPath(rest)
}

func sameHost(u *url.URL, base string) bool {
	b, err := url.Parse(base)
	return err == nil && b.Host != "" && strings.EqualFold(b.Host, u.Host)
}

// Header is the request's: the response's is reached by its writer.
func (c *call) Header() http.Header { return c.Request.Header }

// reply is the header of the answer.
func (c *call) reply() http.Header { return c.ResponseWriter.Header() }

// status answers without a body.
func (c *call) status(code int) error {
	c.WriteHeader(code)
	return nil
}

// writable fails unless the caller may write at the path.
func (c *call) writable() error {
	scope, err := c.access.Scope(filestore.Write)
	if err != nil {
		return err
	}
	return scope.Writable(c.path)
}

// missing reports whether something is not there.
func missing(err error) bool { return fault.Is(err, fault.NotFound) }

// found is what is at a path.
type found struct {
	isFolder bool
	entry    folder.Entry  // a file
	folder   folder.Folder // a folder
}

// etag is the entity tag of a file; folders have none.
func (f found) etag() string {
	if f.isFolder {
		return ""
	}
	return `"` + f.entry.File.CID + `"`
}

// find returns what is at a path.
func (a *api) find(c *call, path string) (found, error) {
	if path != "/" {
		e, err := a.Folders.File(c.Context(), c.access, path)
		if !missing(err) {
			return found{entry: e}, err
		}
	}
	f, err := a.folderAt(c, path)
	return found{isFolder: true, folder: f}, err
}

// folderAt returns the folder at a path. What an access begins with is there for it,
// also while it is empty.
func (a *api) folderAt(c *call, path string) (folder.Folder, error) {
	f, err := a.Folders.At(c.Context(), c.access, path)
	if missing(err) {
		for _, g := range c.access.Grants {
			if vfspath.Root(path).Covers(g.Root) {
				return folder.Folder{Path: path}, nil
			}
		}
	}
	return f, err
}

// exists reports whether something is at a path.
func (a *api) exists(c *call, path string) (bool, error) {
	_, err := a.find(c, path)
	if missing(err) {
		return false, nil
	}
	return err == nil, err
}
