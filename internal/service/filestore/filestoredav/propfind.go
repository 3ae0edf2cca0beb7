package filestoredav

import (
	"bufio"
	"encoding/xml"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/protocol/webdav"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoredav/davstate"
	"github.com/castalia-org/castalia/internal/service/filestore/folder"
)

// question is a PROPFIND, with what has to be looked up for it.
type question struct {
	webdav.Propfind
	dead, locks, usage bool
}

func newQuestion(p webdav.Propfind) question {
	q := question{Propfind: p, dead: p.All || p.NamesOnly, locks: p.All || p.Wants(dav("lockdiscovery"))}
	q.usage = p.Wants(dav("quota-used-bytes")) || p.Wants(dav("quota-available-bytes"))
	for _, name := range p.Props {
		q.dead = q.dead || !slices.Contains(liveNames, name) && !slices.Contains(onRequest, name)
	}
	return q
}

func (a *api) propfind(c *call) error {
	asked, err := webdav.ParsePropfind(c.Body)
	if err != nil {
		return err
	}
	depth := c.Header().Get("Depth")
	if depth != "0" && depth != "1" {
		if depth != "" && !strings.EqualFold(depth, "infinity") {
			return fault.New(fault.Invalid, "Depth is 0, 1 or infinity.")
		}
		return refusal{http.StatusForbidden, "propfind-finite-depth"}
	}
	q := newQuestion(asked)
	if depth == "1" {
		// A folder is listed without asking first whether it is one.
		nodes, next, err := a.Folders.Page(c.Context(), c.access, c.path, "")
		if err != nil {
			return err
		}
		if len(nodes) > 0 {
			return a.list(c, q, nodes, next)
		}
	}
	f, err := a.find(c, c.path)
	if err != nil {
		return err
	}
	all := []resource{{path: c.path, isFolder: f.isFolder, file: f.entry.File, mark: f.entry.Mark, folder: f.folder}}
	if err := a.lookUp(c, q, all, false); err != nil {
		return err
	}
	out := c.multistatus()
	out.resources(q, all)
	return out.end()
}

// list answers with a folder and what is in it, page by page.
func (a *api) list(c *call, q question, nodes []folder.Node, next string) error {
	self := resource{path: c.path, isFolder: true}
	if q.dead && c.path != "/" {
		f, err := a.folderAt(c, c.path)
		if err != nil {
			return err
		}
		self.folder = f
	}
	all := []resource{self}
	var out *multistatus
	for {
		for _, n := range nodes {
			all = append(all, resource{path: n.Path, isFolder: n.IsFolder, file: n.File, mark: n.Mark, folder: n.Folder})
		}
		err := a.lookUp(c, q, all, true)
		if err == nil {
			if out == nil {
				out = c.multistatus()
			}
			out.resources(q, all)
			if next == "" {
				return out.end()
			}
			nodes, next, err = a.Folders.Page(c.Context(), c.access, c.path, next)
			all = nil
		}
		switch {
		case err != nil && out == nil:
			return err
		case err != nil:
			panic(http.ErrAbortHandler) // a list that ends early would look whole
		}
	}
}

// lookUp adds what was asked for and is not in a listing.
func (a *api) lookUp(c *call, q question, all []resource, below bool) error {
	if q.dead {
		var ids []string
		for _, r := range all {
			if id := r.id(); id != "" {
				ids = append(ids, id)
			}
		}
		props, err := a.State.Props(c.Context(), ids)
		if err != nil {
			return err
		}
		for i := range all {
			all[i].props = props[all[i].id()]
		}
	}
	if q.locks {
		locks, err := a.State.Locks(c.Context(), c.access.Namespace, c.path, below, a.svc.Now())
		if err != nil {
			return err
		}
		for i := range all {
			all[i].locks = locksFor(locks, all[i].path)
		}
	}
	if !q.usage {
		return nil
	}
	asker, quota := c.access, int64(0)
	if slices.ContainsFunc(asker.Grants, func(g filestore.Grant) bool { return g.Root == vfspath.Everything }) {
		asker, quota = filestore.Owner(asker.Namespace), a.svc.Quota(asker.Namespace) // what is left depends on everything
	}
	usage, err := a.svc.Usage(c.Context(), asker)
	if err != nil {
		return err
	}
	for i := range all {
		all[i].usage, all[i].quota = &usage, quota
	}
	return nil
}

// locksFor are those of many that hold for a path.
func locksFor(locks []davstate.Lock, path string) (all []davstate.Lock) {
	for _, l := range locks {
		if l.Path == path || l.Deep && vfspath.Root(l.Path).Contains(path) {
			all = append(all, l)
		}
	}
	return all
}

// multistatus writes an answer about many resources.
type multistatus struct {
	b *bufio.Writer
	w io.Writer
}

func (c *call) multistatus() *multistatus {
	c.reply().Set("Content-Type", xmlMedia)
	c.WriteHeader(http.StatusMultiStatus)
	m := &multistatus{b: bufio.NewWriterSize(c.ResponseWriter, 32<<10), w: c.ResponseWriter}
	m.text(xmlHead, `<D:multistatus xmlns:D="DAV:">`)
	return m
}

// text writes; what goes wrong is told at the end.
func (m *multistatus) text(parts ...string) {
	for _, p := range parts {
		_, _ = m.b.WriteString(p)
	}
}

func (m *multistatus) end() error {
	m.text("</D:multistatus>\n")
	return gone(m.b.Flush())
}

func (m *multistatus) resources(q question, all []resource) {
	for _, r := range all {
		m.text("<D:response><D:href>", webdav.Escape(href(r.path, r.isFolder)), "</D:href>")
		has, lacks := r.answer(q)
		if has != "" || lacks == "" {
			m.propstat(http.StatusOK, has)
		}
		if lacks != "" {
			m.propstat(http.StatusNotFound, lacks)
		}
		m.text("</D:response>")
	}
}

func (m *multistatus) propstat(status int, props string) {
	m.text("<D:propstat><D:prop>", props, "</D:prop><D:status>", statusLine(status), "</D:status></D:propstat>")
}

func statusLine(status int) string {
	switch status {
	case http.StatusOK:
		return "HTTP/1.1 200 OK"
	case http.StatusNotFound:
		return "HTTP/1.1 404 Not Found"
	case http.StatusForbidden:
		return "HTTP/1.1 403 Forbidden"
	}
	return "HTTP/1.1 424 Failed Dependency"
}

// answer writes the properties that a resource has of those that were asked for, and
// the names of those that it has not.
func (r resource) answer(q question) (has, lacks string) {
	var yes, no strings.Builder
	names := q.Props
	if q.All || q.NamesOnly {
		names = append(slices.Clone(liveNames), q.Props...)
	}
	for _, name := range names {
		content, ok := r.live(name)
		switch {
		case ok && q.NamesOnly:
			yes.WriteString(property(name, ""))
		case ok:
			yes.WriteString(property(name, content))
		case q.NamesOnly, q.All && slices.Contains(liveNames, name):
		default:
			if p := r.dead(name); p != "" {
				yes.WriteString(p)
				continue
			}
			no.WriteString(property(name, ""))
		}
	}
	if !q.All && !q.NamesOnly {
		return yes.String(), no.String()
	}
	for _, p := range r.props {
		if q.NamesOnly {
			yes.WriteString(property(p.Name, ""))
			continue
		}
		if !slices.Contains(q.Props, p.Name) {
			yes.WriteString(p.XML)
		}
	}
	return yes.String(), no.String()
}

func (r resource) dead(name xml.Name) string {
	for _, p := range r.props {
		if p.Name == name {
			return p.XML
		}
	}
	return ""
}
