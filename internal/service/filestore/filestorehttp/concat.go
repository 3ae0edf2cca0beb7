package filestorehttp

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/concat"
	"github.com/castalia-org/castalia/internal/service/filestore/contenthttp"
)

// What Upload-Concat says of an upload.
const (
	concatPartial = "partial"
	concatFinal   = "final"
)

// uploadConcat reads what a new upload has to do with others: nothing, or it is
// a piece, or it is made of pieces, whose identifiers follow. What cannot be read is
// refused, since a piece that is taken for a file shows half of one.
func uploadConcat(r *http.Request) (relation string, parts []string, err error) {
	values := r.Header.Values("Upload-Concat")
	if len(values) == 0 {
		return "", nil, nil
	}
	text := strings.TrimSpace(values[0])
	list, final := strings.CutPrefix(text, concatFinal+";")
	switch {
	case len(values) > 1:
		return "", nil, fault.New(fault.Invalid, "Upload-Concat is given more than once")
	case text == concatPartial:
		return concatPartial, nil, nil
	case !final:
		return "", nil, fault.Newf(fault.Invalid, "Upload-Concat must be partial, or final; and the addresses of partial uploads, not %q", text)
	case r.Header.Get("Upload-Length") != "" || r.Header.Get("Upload-Defer-Length") != "":
		return "", nil, fault.New(fault.Invalid, "Upload-Length has no place in a final upload: its parts have the length")
	}
	for address := range strings.FieldsSeq(list) {
		id, err := uploadID(address)
		if err != nil {
			return "", nil, err
		}
		parts = append(parts, id)
	}
	return concatFinal, parts, nil
}

// uploadID reads the identifier from the address of an upload, absolute or not.
func uploadID(address string) (string, error) {
	u, err := url.Parse(address)
	if err == nil {
		if _, id, found := strings.Cut(u.Path, prefix+"/upload/"); found && id != "" && !strings.Contains(id, "/") {
			return id, nil
		}
	}
	return "", fault.Newf(fault.Invalid, "Upload-Concat: %q is not the address of an upload", address)
}

// described reads from the metadata what a new upload will be. A piece has no
// name yet.
func described(r *http.Request, meta map[string]string, partial bool) (filestore.NewUpload, error) {
	n := filestore.NewUpload{MimeType: first(meta["contentType"], meta["filetype"]), Length: -1, Partial: partial}
	if partial {
		return n, nil
	}
	switch said := meta["overwrite"]; said {
	case "", "false":
	case "true":
		n.Replace = true
	default:
		return n, fault.Newf(fault.Invalid, "Upload-Metadata: overwrite must be true or false, not %q", said)
	}
	var err error
	n.Path, err = place(first(meta["path"], r.URL.Query().Get("path")), first(meta["filename"], meta["name"]))
	return n, err
}

// place returns the path of a file that comes with a name of its own: path when
// it says all, below path when that ends in a slash, and at the root without one.
func place(path, name string) (string, error) {
	switch {
	case path != "" && !strings.HasSuffix(path, "/"):
		return path, nil
	case name == "":
		return "", fault.New(fault.Invalid, "neither a path nor a filename says where to store the file")
	case strings.ContainsAny(name, `/\`):
		return "", fault.Newf(fault.Invalid, "the filename %q has a slash: give the path to name folders", name)
	}
	return strings.TrimSuffix(path, "/") + "/" + name, nil
}

// join answers a final upload: the file is there, or nothing has changed.
func (u *uploads) join(w http.ResponseWriter, r *http.Request, a filestore.Access, n filestore.NewUpload,
	parts []string,
) error {
	up, receipt, err := concat.Join(r.Context(), u.svc, a,
		concat.Final{Path: n.Path, MimeType: n.MimeType, Replace: n.Replace, Parts: parts})
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Location", uploadAddress(up.ID))
	h.Set("Upload-Expires", up.Expires.UTC().Format(http.TimeFormat))
	h.Set("Upload-Offset", strconv.FormatInt(up.Offset, 10))
	h.Set("Upload-Length", strconv.FormatInt(up.Length, 10))
	relate(h, up)
	contenthttp.Describe(h, receipt.File)
	w.WriteHeader(http.StatusCreated)
	return nil
}

// relate says what an upload has to do with others.
func relate(h http.Header, up filestore.Upload) {
	switch {
	case up.Partial:
		h.Set("Upload-Concat", concatPartial)
	case len(up.Joined) > 0:
		addresses := make([]string, len(up.Joined))
		for i, id := range up.Joined {
			addresses[i] = uploadAddress(id)
		}
		h.Set("Upload-Concat", concatFinal+";"+strings.Join(addresses, " "))
	}
}

// uploadAddress is relative: it leads back the way the client came.
func uploadAddress(id string) string { return prefix + "/upload/" + id }
