package filestoredav

import (
	"encoding/xml"
	"net/http"
	"slices"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/webdav"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoredav/davstate"
)

// lastModified is a property by which programs set when a file was changed, in
// seconds since 1970.
var lastModified = dav("lastmodified")

func (a *api) proppatch(c *call) error {
	patches, err := webdav.ParseProppatch(c.Body)
	if err != nil {
		return err
	}
	if err := c.writable(); err != nil {
		return err
	}
	f, err := a.find(c, c.path)
	if err != nil {
		return err
	}
	if err := a.unlocked(c, c.path, false); err != nil {
		return err
	}
	var refused []xml.Name
	for _, p := range patches {
		if protected(p, f) {
			refused = append(refused, p.Prop.Name)
		}
	}
	if len(refused) == 0 {
		if err := a.patch(c, f, patches); err != nil {
			return err
		}
	}
	out := c.multistatus()
	out.text("<D:response><D:href>", webdav.Escape(href(c.path, f.isFolder)), "</D:href>")
	for _, p := range patches {
		status := http.StatusOK
		switch {
		case slices.Contains(refused, p.Prop.Name):
			status = http.StatusForbidden
		case len(refused) > 0:
			status = http.StatusFailedDependency
		}
		out.propstat(status, property(p.Prop.Name, ""))
	}
	out.text("</D:response>")
	return out.end()
}

// protected reports whether a property cannot be changed by clients.
func protected(p webdav.Patch, f found) bool {
	if p.Prop.Name == lastModified {
		_, err := modified(p.Prop.Text())
		return p.Remove || f.isFolder || err != nil
	}
	return slices.Contains(liveNames, p.Prop.Name) || slices.Contains(onRequest, p.Prop.Name)
}

// patch makes the changes, in their order.
func (a *api) patch(c *call, f found, patches []webdav.Patch) error {
	set := map[xml.Name]davstate.Prop{}
	var removed []xml.Name
	for _, p := range patches {
		name := p.Prop.Name
		if name == lastModified {
			if err := a.touch(c, f, p.Prop.Text()); err != nil {
				return err
			}
			continue
		}
		delete(set, name)
		if removed = append(removed, name); p.Remove {
			continue
		}
		text := p.Prop.String()
		if len(text) > davstate.MaxPropBytes {
			return fault.New(fault.TooLarge, "A property is too long.")
		}
		set[name] = davstate.Prop{Name: name, XML: text}
	}
	if len(removed) == 0 {
		return nil
	}
	id := f.entry.File.ID
	if f.isFolder {
		if id = f.folder.ID; id == "" {
			made, _, err := a.Folders.Make(c.Context(), c.access, c.path) // a property needs something to hang on
			if err != nil {
				return err
			}
			id = made.ID
		}
	}
	props := make([]davstate.Prop, 0, len(set))
	for _, p := range set {
		props = append(props, p)
	}
	return a.State.PatchProps(c.Context(), id, props, removed)
}

// touch sets when a file was changed.
func (a *api) touch(c *call, f found, text string) error {
	mark := f.entry.Mark
	var err error
	if mark.Modified, err = modified(text); err != nil {
		return err
	}
	return a.State.MarkFile(c.Context(), f.entry.File, mark)
}
