package filestorehttp

import (
	"crypto/md5" //nolint:gosec // the tus checksum extension names it; nothing rests on it
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // the tus checksum extension names it; nothing rests on it
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"hash"
	"io"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/protocol/digestfield"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/contenthttp"
)

// The tus protocol, version 1.0.0, with what we serve of its extensions.
const (
	tusVersion    = "1.0.0"
	tusExtensions = "creation,creation-with-upload,creation-defer-length,termination,checksum,expiration,concatenation"
	tusChecksums  = "sha256,sha1,md5"
	offsetMedia   = "application/offset+octet-stream"

	statusChecksumMismatch = 460
)

// uploads serves resumable uploads.
type uploads struct{ *api }

func newUploads(a *api) *uploads { return &uploads{a} }

func (a *api) uploadRoutes() []httpserver.Route {
	u := a.uploads
	id := httpserver.Param{Name: "id", In: "path", Required: true, Doc: "The upload."}
	route := func(method, pattern, summary string, h handler, params ...httpserver.Param) httpserver.Route {
		return httpserver.Route{
			Method: method, Pattern: prefix + "/upload" + pattern, Summary: summary, Tags: []string{"Uploads"},
			Auth:    httpserver.Principal,
			Params:  append(params, httpserver.Param{Name: "Tus-Resumable", In: "header", Required: true, Doc: tusVersion}),
			Handler: a.with(u.tus(h)),
		}
	}
	create := route(http.MethodPost, "", "Begin a resumable upload (tus 1.0.0)", u.create,
		httpserver.Param{Name: "Upload-Length", In: "header", Schema: 0, Doc: "Bytes; or Upload-Defer-Length: 1."},
		httpserver.Param{Name: "Upload-Metadata", In: "header", Doc: "path, contentType and overwrite, each base64. A path that ends in a slash is a folder; its file is named by filename."},
		httpserver.Param{Name: "path", In: "query", Doc: "Path or folder for metadata that has none, as Uppy's."},
		httpserver.Param{Name: "Upload-Concat", In: "header", Doc: "partial begins a piece of a file; final; with the addresses of complete pieces makes the file."})
	create.BodyMedia, create.MaxBody, create.Stream = []string{offsetMedia}, -1, true
	create.Replies = []httpserver.Reply{{Status: 201, Doc: "Location is the upload."}, {Status: 409, Doc: "A file is there, or a piece is not complete."}}
	patch := route(http.MethodPatch, "/{id}", "Add bytes to an upload", u.patch, id,
		httpserver.Param{Name: "Upload-Offset", In: "header", Required: true, Schema: 0})
	patch.BodyMedia, patch.MaxBody, patch.Stream = []string{offsetMedia}, -1, true
	patch.Replies = []httpserver.Reply{
		{Status: 204, Doc: "Upload-Offset is where to go on."},
		{Status: 200, Doc: "Complete: x-vfs-file-id, x-vfs-cid and x-vfs-content-hash name the file."},
		{Status: 409, Doc: "Another offset."},
		{Status: 423, Doc: "Somebody else is writing."},
		{Status: statusChecksumMismatch, Doc: "Upload-Checksum does not match; the bytes were dropped."},
	}
	head := route(http.MethodHead, "/{id}", "Where an upload is", u.head, id)
	head.Replies = []httpserver.Reply{
		{Status: 200, Doc: "Upload-Offset is where to go on; at the end the file is there, and x-vfs-file-id, x-vfs-cid and x-vfs-content-hash name it."},
		{Status: 409, Doc: "It is complete, and something else is at its path."},
	}
	del := route(http.MethodDelete, "/{id}", "Abandon an upload", u.remove, id)
	del.Replies = []httpserver.Reply{{Status: 204}}
	return append([]httpserver.Route{create, head, patch, del}, u.optionsRoutes()...)
}

// optionsRoutes say what is offered, to clients that ask before they have a token.
func (u *uploads) optionsRoutes() []httpserver.Route {
	var routes []httpserver.Route
	for pattern, allow := range map[string]string{"/upload": "OPTIONS, POST", "/upload/{id}": "DELETE, HEAD, OPTIONS, PATCH"} {
		routes = append(routes, httpserver.Route{
			Method: http.MethodOptions, Pattern: prefix + pattern, Summary: "What is offered of tus", Tags: []string{"Uploads"},
			Auth: httpserver.Public, Limit: httpserver.LimitPages,
			Replies: []httpserver.Reply{{Status: 204, Doc: "Tus-Version, Tus-Extension, Tus-Checksum-Algorithm and Tus-Max-Size."}},
			Handler: func(w http.ResponseWriter, _ *http.Request) error {
				w.Header().Set("Allow", allow)
				u.offer(w.Header())
				w.WriteHeader(http.StatusNoContent)
				return nil
			},
		})
	}
	slices.SortFunc(routes, func(a, b httpserver.Route) int { return strings.Compare(a.Pattern, b.Pattern) })
	return routes
}

// offer announces what we serve.
func (u *uploads) offer(h http.Header) {
	h.Set("Tus-Resumable", tusVersion)
	h.Set("Tus-Version", tusVersion)
	h.Set("Tus-Extension", tusExtensions)
	h.Set("Tus-Checksum-Algorithm", tusChecksums)
	h.Set("Tus-Max-Size", strconv.FormatInt(u.svc.MaxUpload(), 10))
}

// tus checks the protocol's version and announces ours.
func (u *uploads) tus(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request, a filestore.Access) error {
		head := w.Header()
		u.offer(head)
		head.Set("Cache-Control", "no-store")
		if v := r.Header.Get("Tus-Resumable"); v != tusVersion {
			return fault.New(fault.Precondition, "Tus-Resumable must be "+tusVersion)
		}
		return h(w, r, a)
	}
}

func (u *uploads) create(w http.ResponseWriter, r *http.Request, a filestore.Access) error {
	meta, err := uploadMetadata(r.Header.Get("Upload-Metadata"))
	if err != nil {
		return err
	}
	relation, parts, err := uploadConcat(r)
	if err != nil {
		return err
	}
	n, err := described(r, meta, relation == concatPartial)
	if err != nil {
		return err
	}
	if relation == concatFinal {
		return u.join(w, r, a, n, parts)
	}
	if r.Header.Get("Upload-Defer-Length") != "1" {
		if n.Length, err = size(r, "Upload-Length"); err != nil {
			return err
		}
	} else if r.Header.Get("Upload-Length") != "" {
		return fault.New(fault.Invalid, "Upload-Length and Upload-Defer-Length contradict each other: give one of them")
	}
	up, err := u.svc.CreateUpload(r.Context(), a, n)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Location", uploadAddress(up.ID))
	h.Set("Upload-Expires", up.Expires.UTC().Format(http.TimeFormat))
	if r.Header.Get("Content-Type") == offsetMedia {
		if err := u.receive(r, a, up.ID, 0); err != nil && !keptSome(err) {
			return u.refuse(w, err)
		}
		if up, err = u.svc.Upload(r.Context(), a, up.ID); err != nil {
			return err
		}
	}
	if err := u.finish(w, r, a, up); err != nil {
		return err
	}
	h.Set("Upload-Offset", strconv.FormatInt(up.Offset, 10))
	w.WriteHeader(http.StatusCreated)
	return nil
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

func (u *uploads) head(w http.ResponseWriter, r *http.Request, a filestore.Access) error {
	up, err := u.svc.Upload(r.Context(), a, r.PathValue("id"))
	if err != nil {
		return err
	}
	// A client that hears of the end is done, so the file must be there: whoever took
	// the last part may have gone away before showing it, or its client before the
	// answer, which is repeated here.
	if err := u.finish(w, r, a, up); err != nil {
		return err
	}
	h := w.Header()
	relate(h, up)
	h.Set("Upload-Offset", strconv.FormatInt(up.Offset, 10))
	h.Set("Upload-Expires", up.Expires.UTC().Format(http.TimeFormat))
	if !up.Partial {
		h.Set("Upload-Metadata", "path "+base64.StdEncoding.EncodeToString([]byte(up.Path)))
	}
	if up.Length < 0 {
		h.Set("Upload-Defer-Length", "1")
	} else {
		h.Set("Upload-Length", strconv.FormatInt(up.Length, 10))
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

func (u *uploads) patch(w http.ResponseWriter, r *http.Request, a filestore.Access) error {
	if r.Header.Get("Content-Type") != offsetMedia {
		return fault.New(fault.UnsupportedMedia, "Content-Type must be "+offsetMedia)
	}
	offset, err := size(r, "Upload-Offset")
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	if r.Header.Get("Upload-Length") != "" {
		length, err := size(r, "Upload-Length")
		if err != nil {
			return err
		}
		if err := u.svc.DeclareLength(r.Context(), a, id, length); err != nil {
			return err
		}
	}
	if err := u.receive(r, a, id, offset); err != nil && !keptSome(err) {
		return u.refuse(w, err)
	}
	up, err := u.svc.Upload(r.Context(), a, id)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Upload-Offset", strconv.FormatInt(up.Offset, 10))
	h.Set("Upload-Expires", up.Expires.UTC().Format(http.TimeFormat))
	if up.Offset != up.Length || up.Partial {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if err := u.finish(w, r, a, up); err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// errKept marks a body that failed after some of it was stored: the answer is
// where to go on.
var errKept = errors.New("the body ended early, and what came is kept")

func keptSome(err error) bool { return errors.Is(err, errKept) }

// receive adds the request's body to the upload, under its lock.
func (u *uploads) receive(r *http.Request, a filestore.Access, id string, offset int64) error {
	up, err := u.svc.Upload(r.Context(), a, id)
	if err != nil {
		return err
	}
	switch {
	case len(up.Joined) > 0:
		return fault.New(fault.Forbidden, "an upload that was joined from others takes no bytes").WithCode("upload_final")
	case up.Offset != offset:
		return fault.Newf(fault.Conflict, "the upload is at %d", up.Offset)
	}
	if up.Offset == up.Length {
		return nil // complete already: the client lost the answer
	}
	body, verify, err := checksum(r)
	if err != nil {
		return err
	}
	holder := rand.Text()
	release, lost, err := u.svc.LockUpload(r.Context(), id, holder)
	if err != nil {
		return err
	}
	defer release()
	n, err := u.svc.WriteUpload(r.Context(), a, id, holder, offset, &until{body, lost}, verify)
	if err != nil && n > 0 {
		return errKept
	}
	return err
}

// until stops reading when the lock is lost.
type until struct {
	r    io.Reader
	lost <-chan struct{}
}

func (u *until) Read(p []byte) (int, error) {
	select {
	case <-u.lost:
		return 0, fault.New(fault.Conflict, "the upload went on elsewhere")
	default:
		return u.r.Read(p)
	}
}

// finish shows the file of an upload that is at its end, and names it in the headers.
func (u *uploads) finish(w http.ResponseWriter, r *http.Request, a filestore.Access, up filestore.Upload) error {
	if up.Offset != up.Length || up.Partial {
		return nil
	}
	receipt, err := u.svc.FinishUpload(r.Context(), a, up.ID)
	if err != nil {
		return err
	}
	contenthttp.Describe(w.Header(), receipt.File)
	return nil
}

func (u *uploads) remove(w http.ResponseWriter, r *http.Request, a filestore.Access) error {
	if err := u.svc.AbortUpload(r.Context(), a, r.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// refuse gives the failures that tus knows by number their status.
func (u *uploads) refuse(w http.ResponseWriter, err error) error {
	e := fault.From(err)
	status := 0
	switch e.Code {
	case codeChecksum:
		status = statusChecksumMismatch
	case codeLocked:
		status = http.StatusLocked
	default:
		return err
	}
	httpserver.SetRetryAfter(w.Header(), e)
	return httpserver.WriteJSON(w, status, map[string]any{"error": e.Code, "message": e.Message, "status": status})
}

const (
	codeChecksum = "checksum_mismatch"
	codeLocked   = filestore.CodeLocked
)

// checksum reads Upload-Checksum and returns the body with the judgement of it.
// Digests of RFC 9530 are judged with it.
func checksum(r *http.Request) (io.Reader, func() error, error) {
	checks, err := contenthttp.Digests(textproto.MIMEHeader(r.Header))
	if err != nil {
		return nil, nil, err
	}
	text := r.Header.Get("Upload-Checksum")
	if text == "" && len(checks) == 0 {
		return r.Body, nil, nil
	}
	body, verify := digestfield.Tee(r.Body, checks)
	judge := func() error {
		if err := verify(); err != nil {
			return contenthttp.DigestFault(err)
		}
		return nil
	}
	if text == "" {
		return body, judge, nil
	}
	name, sum, _ := strings.Cut(text, " ")
	want, err := base64.StdEncoding.DecodeString(sum)
	if err != nil {
		return nil, nil, fault.New(fault.Invalid, "Upload-Checksum is not base64")
	}
	var h hash.Hash
	switch name {
	case "sha256":
		h = sha256.New()
	case "sha1":
		h = sha1.New() //nolint:gosec // as above
	case "md5":
		h = md5.New() //nolint:gosec // as above
	default:
		return nil, nil, fault.New(fault.Invalid, "Upload-Checksum must be one of "+tusChecksums)
	}
	return io.TeeReader(body, h), func() error {
		if subtle.ConstantTimeCompare(h.Sum(nil), want) != 1 {
			return fault.New(fault.Invalid, "the bytes do not match Upload-Checksum").WithCode(codeChecksum)
		}
		return judge()
	}, nil
}

func size(r *http.Request, name string) (int64, error) {
	n, err := strconv.ParseInt(r.Header.Get(name), 10, 64)
	if err != nil || n < 0 {
		return 0, fault.New(fault.Invalid, name+" must be a number of bytes")
	}
	return n, nil
}

// uploadMetadata reads "key base64, key base64".
func uploadMetadata(text string) (map[string]string, error) {
	out := map[string]string{}
	if len(text) > 16<<10 {
		return nil, fault.New(fault.Invalid, "Upload-Metadata is too long")
	}
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), " ")
		if key == "" {
			continue
		}
		b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(value))
		if err != nil {
			return nil, fault.Newf(fault.Invalid, "Upload-Metadata: %q is not base64", key)
		}
		if _, twice := out[key]; twice {
			return nil, fault.Newf(fault.Invalid, "Upload-Metadata: %q must be there once", key)
		}
		out[key] = string(b)
	}
	return out, nil
}
