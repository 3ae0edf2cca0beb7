package filestoredav

import (
	"net/http"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/contenthttp"
	"github.com/castalia-org/castalia/internal/service/filestore/folder"
)

// inFolder fails unless the folder that a path is in is there.
func (a *api) inFolder(c *call, path string) error {
	_, err := a.folderAt(c, parent(path))
	if missing(err) {
		return errNoParent
	}
	return err
}

func (a *api) put(c *call) error {
	switch {
	case c.path == "/" || strings.HasSuffix(c.URL.Path, "/"):
		return errNotAllowed
	case c.Header().Get("Content-Range") != "":
		return fault.New(fault.Invalid, "Files are stored whole: Content-Range is refused.")
	}
	if err := a.unlockedForPut(c); err != nil {
		return err
	}
	if err := a.inFolder(c, c.path); err != nil {
		return err
	}
	condition, err := contenthttp.Condition(c.Request)
	if err != nil {
		return err
	}
	body, mark, err := marked(c.Request)
	if err != nil {
		return err
	}
	receipt, err := a.svc.Put(c.Context(), c.access, filestore.Put{
		Path: c.path, Mode: filestore.Upsert, MimeType: c.Header().Get("Content-Type"), Body: body,
		Size: max(c.ContentLength, 0), If: condition, Mark: mark,
	})
	if err != nil {
		if fault.From(err).Code == "name_taken" {
			return errNotAllowed // a folder is there
		}
		return err
	}
	contenthttp.Describe(c.reply(), receipt.File)
	c.reply().Set("Oc-Etag", c.reply().Get("Etag"))
	if !mark.Modified.IsZero() {
		c.reply().Set("X-Oc-Mtime", "accepted")
	}
	return c.status(created(receipt.Created))
}

func created(is bool) int {
	if is {
		return http.StatusCreated
	}
	return http.StatusNoContent
}

func (a *api) mkcol(c *call) error {
	if c.ContentLength != 0 {
		return fault.New(fault.UnsupportedMedia, "A folder is made without a body.")
	}
	there, err := a.exists(c, c.path)
	if err != nil {
		return err
	}
	if there {
		return errNotAllowed
	}
	if err := a.unlocked(c, c.path, false); err != nil {
		return err
	}
	if err := a.inFolder(c, c.path); err != nil {
		return err
	}
	if _, _, err := a.Folders.Make(c.Context(), c.access, c.path); err != nil {
		return err
	}
	return c.status(http.StatusCreated)
}

// keepParent makes the folder that something is about to leave, so that it stays as
// it would on a disk. Whoever may not write there leaves it as it is.
func (a *api) keepParent(c *call, path string) error {
	up := parent(path)
	if up == "/" {
		return nil
	}
	f, err := a.Folders.At(c.Context(), c.access, up)
	if err != nil || f.Made() {
		return nil //nolint:nilerr // what cannot be seen cannot be kept
	}
	if _, _, err = a.Folders.Make(c.Context(), c.access, up); fault.Is(err, fault.Forbidden) {
		return nil
	}
	return err
}

func (a *api) remove(c *call) error {
	if c.path == "/" {
		return fault.New(fault.Forbidden, "The root cannot be deleted.")
	}
	f, err := a.find(c, c.path)
	if err != nil {
		return err
	}
	if err := a.unlocked(c, c.path, true); err != nil {
		return err
	}
	if err := a.keepParent(c, c.path); err != nil {
		return err
	}
	if f.isFolder {
		_, err = a.Folders.Trash(c.Context(), c.access, c.path, filestore.Once{})
	} else {
		_, err = a.svc.Trash(c.Context(), c.access, filestore.Target{ID: f.entry.File.ID})
	}
	if err != nil {
		return err
	}
	if err := a.State.RemoveLocks(c.Context(), c.access.Namespace, c.path); err != nil {
		return err
	}
	return c.status(http.StatusNoContent)
}

// ends reads where a COPY or MOVE goes, and fails when it cannot. It reports whether
// something is there already.
func (a *api) ends(c *call) (to string, replaced bool, err error) {
	if to, err = a.target(c); err != nil {
		return "", false, err
	}
	if c.path == "/" || to == "/" || c.path == to {
		return "", false, fault.New(fault.Forbidden, "Source and destination must be two places, and neither the root.")
	}
	if replaced, err = a.exists(c, to); err != nil {
		return "", false, err
	}
	if replaced && strings.EqualFold(c.Header().Get("Overwrite"), "F") {
		return "", false, errUnmet
	}
	if err := a.inFolder(c, to); err != nil {
		return "", false, err
	}
	return to, replaced, a.unlocked(c, to, true)
}

func (a *api) copyTo(c *call) error {
	f, err := a.find(c, c.path)
	if err != nil {
		return err
	}
	to, replaced, err := a.ends(c)
	if err != nil {
		return err
	}
	if f.isFolder && c.Header().Get("Depth") == "0" {
		err = a.copyShallow(c, to, replaced)
	} else {
		_, err = a.Folders.Copy(c.Context(), c.access, folder.Ends{From: c.path, To: to, Onto: folder.Replace})
	}
	if err != nil {
		return into(err)
	}
	return c.status(created(!replaced))
}

// copyShallow copies a folder without what is in it.
func (a *api) copyShallow(c *call, to string, replaced bool) error {
	if replaced {
		f, err := a.find(c, to)
		if err != nil {
			return err
		}
		if f.isFolder {
			_, err = a.Folders.Trash(c.Context(), c.access, to, filestore.Once{})
		} else {
			_, err = a.svc.Trash(c.Context(), c.access, filestore.Target{ID: f.entry.File.ID})
		}
		if err != nil {
			return err
		}
	}
	_, _, err := a.Folders.Make(c.Context(), c.access, to)
	return err
}

func (a *api) moveTo(c *call) error {
	if _, err := a.find(c, c.path); err != nil {
		return err
	}
	to, replaced, err := a.ends(c)
	if err != nil {
		return err
	}
	if err := a.unlocked(c, c.path, true); err != nil {
		return err
	}
	if err := a.keepParent(c, c.path); err != nil {
		return err
	}
	if _, err := a.Folders.Move(c.Context(), c.access,
		folder.Ends{From: c.path, To: to, Onto: folder.Replace}); err != nil {
		return into(err)
	}
	if err := a.State.RemoveLocks(c.Context(), c.access.Namespace, c.path); err != nil { // they do not move along
		return err
	}
	return c.status(created(!replaced))
}

// into says what WebDAV says of a folder that would be put into itself.
func into(err error) error {
	if fault.Is(err, fault.Invalid) {
		return fault.New(fault.Forbidden, fault.From(err).Message)
	}
	return err
}
