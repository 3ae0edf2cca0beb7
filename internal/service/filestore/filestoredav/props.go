package filestoredav

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/protocol/webdav"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoredav/davstate"
	"github.com/castalia-org/castalia/internal/service/filestore/folder"
)

// ocSpace is the namespace in which other programs ask for checksums.
const ocSpace = "http://owncloud.org/ns"

func dav(local string) xml.Name { return xml.Name{Space: webdav.Space, Local: local} }

// resource is what properties are asked of.
type resource struct {
	path     string
	isFolder bool
	file     filestore.File
	mark     filestore.Mark
	folder   folder.Folder
	props    []davstate.Prop
	locks    []davstate.Lock
	usage    *filestore.Usage // of the namespace; nil unless it was asked for
	quota    int64            // 0 when there is none, or when it is not the caller's to know
}

// id is what the properties of a resource hang on; empty when nothing can.
func (r resource) id() string {
	if r.isFolder {
		return r.folder.ID
	}
	return r.file.ID
}

// modified is when the content was changed: where it came from, or here.
func (r resource) modified() time.Time {
	switch {
	case r.isFolder:
		return r.folder.Created
	case !r.mark.Modified.IsZero():
		return r.mark.Modified
	}
	return r.file.Updated
}

// liveNames are the properties that a resource has by itself, in the order of a
// listing. onRequest are told to those who ask by name.
var (
	liveNames = []xml.Name{
		dav("resourcetype"), dav("displayname"), dav("creationdate"), dav("getlastmodified"), dav("getcontentlength"), dav("getcontenttype"), dav("getetag"),
		dav("supportedlock"), dav("lockdiscovery"),
	}
	onRequest = []xml.Name{
		dav("quota-available-bytes"), dav("quota-used-bytes"), {Space: ocSpace, Local: "checksums"}, {Space: ocSpace, Local: "fileid"},
	}
)

const supportedLock = `<D:lockentry><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>` +
	`<D:lockentry><D:lockscope><D:shared/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>`

// live returns the content of a property that the resource has by itself, as XML.
func (r resource) live(name xml.Name) (string, bool) {
	if name.Space == ocSpace {
		return r.liveOC(name.Local)
	}
	if name.Space != webdav.Space {
		return "", false
	}
	switch name.Local {
	case "resourcetype":
		if r.isFolder {
			return "<D:collection/>", true
		}
		return "", true
	case "displayname":
		return webdav.Escape(vfspath.BaseName(r.path)), true
	case "creationdate":
		at := r.file.Created
		if r.isFolder {
			at = r.folder.Created
		}
		return stamp(at, time.RFC3339)
	case "getlastmodified":
		return stamp(r.modified(), http.TimeFormat)
	case "supportedlock":
		return supportedLock, true
	case "lockdiscovery":
		var text strings.Builder
		for _, l := range r.locks {
			text.WriteString(activeLock(l))
		}
		return text.String(), true
	case "quota-used-bytes":
		if r.isFolder && r.usage != nil {
			return strconv.FormatInt(max(r.usage.VersionBytes, r.usage.Bytes), 10), true
		}
	case "quota-available-bytes":
		if r.isFolder && r.usage != nil && r.quota > 0 {
			return strconv.FormatInt(max(r.quota-r.usage.VersionBytes, 0), 10), true
		}
	}
	if r.isFolder {
		return "", false
	}
	switch name.Local {
	case "getcontentlength":
		return strconv.FormatInt(r.file.Size, 10), true
	case "getcontenttype":
		return webdav.Escape(r.file.MimeType), true
	case "getetag":
		return webdav.Escape(`"` + r.file.CID + `"`), true
	}
	return "", false
}

// liveOC are the properties that other programs know by another server.
func (r resource) liveOC(local string) (string, bool) {
	switch {
	case local == "fileid" && r.id() != "":
		return r.id(), true
	case local == "checksums" && !r.isFolder:
		text := "SHA256:" + r.file.Hash
		if r.mark.MD5 != "" {
			text = "MD5:" + r.mark.MD5 + " " + text
		}
		if r.mark.SHA1 != "" {
			text = "SHA1:" + r.mark.SHA1 + " " + text
		}
		return `<oc:checksum xmlns:oc="` + ocSpace + `">` + text + `</oc:checksum>`, true
	}
	return "", false
}

func stamp(at time.Time, layout string) (string, bool) {
	if at.IsZero() {
		return "", false
	}
	return at.UTC().Format(layout), true
}

// property is one of an answer; XML is its whole element.
func property(name xml.Name, content string) string {
	switch name.Space {
	case webdav.Space:
		if content == "" {
			return "<D:" + name.Local + "/>"
		}
		return "<D:" + name.Local + ">" + content + "</D:" + name.Local + ">"
	case "":
		return "<" + name.Local + ">" + content + "</" + name.Local + ">"
	}
	return fmt.Sprintf(`<x:%s xmlns:x="%s">%s</x:%s>`, name.Local, webdav.Escape(name.Space), content, name.Local)
}
