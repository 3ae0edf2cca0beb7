// Package contenthttp sends file contents over HTTP and reads what requests say of
// them: conditions, ranges and digests.
//
// It is what the faces of the file store have in common. It promises that a browser
// never runs a stored file on our origin, that damage is an error with a status as
// long as nothing was sent, and that a length which was promised and cannot be kept
// ends the connection. It decides nothing about who may read.
package contenthttp

import (
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/seal"
	"github.com/castalia-org/castalia/internal/service/filestore"
)

// Serve sends content with the store's headers, whole or in ranges.
func Serve(w http.ResponseWriter, r *http.Request, f filestore.File, o *filestore.Opened) error {
	if err := expected(r, f); err != nil {
		return err
	}
	h := w.Header()
	Describe(h, f)
	describeBytes(h, f)
	present(h, f)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin") // who may read is the token's and CORS's matter
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Accept-Ranges", "bytes")
	if NotModified(r, f) {
		h.Del("Content-Type")
		h.Del("Content-Disposition")
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if asked := r.Header.Get("Range"); asked != "" {
		if plain := plainRanges(asked, f.Size); plain != "" {
			return serveRanges(w, r, plain, f, o)
		}
	}
	h.Set("Content-Length", strconv.FormatInt(f.Size, 10))
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	if whole := h.Get("Repr-Digest"); whole != "" {
		h.Set("Content-Digest", whole)
	}
	body, err := o.Range(0, -1)
	if err != nil {
		return undo(h, err)
	}
	defer func() { _ = body.Close() }()
	return send(w, body, f.Size)
}

// send copies the body. The first piece is read before the status is sent, so
// that damage found in it is an error and not half an answer.
func send(w http.ResponseWriter, body io.Reader, size int64) error {
	if all, ok := body.(*seal.Plain); ok { // a small file is in memory, and was seen to be whole
		if _, err := w.Write(all.Bytes()); err != nil {
			return fault.Wrap(fault.Canceled, "the client left", err)
		}
		return nil
	}
	first := make([]byte, min(size+1, 64<<10)) // one more, to see that nothing follows
	n, err := io.ReadFull(body, first)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return undo(w.Header(), err)
	}
	if _, err := w.Write(first[:n]); err != nil {
		return fault.Wrap(fault.Canceled, "the client left", err)
	}
	if n < len(first) {
		return nil
	}
	if err := sendRest(w, body, size, first); err != nil {
		// The length was promised: ending the connection tells the client that the rest is missing.
		panic(http.ErrAbortHandler)
	}
	return nil
}

// sendRest copies what follows the first piece, whose buffer it may use.
func sendRest(w http.ResponseWriter, body io.Reader, size int64, buffer []byte) error {
	if size >= 2*aheadSize {
		if buffers := readingAhead.get(); buffers != nil {
			defer readingAhead.put(buffers)
			return copyAhead(w, body, buffers)
		}
	}
	_, err := io.CopyBuffer(w, body, buffer)
	return err
}

// undo removes what described the content that cannot be sent.
func undo(h http.Header, err error) error {
	for _, name := range []string{"Content-Length", "Content-Type", "Content-Disposition", "Content-Range", "Etag", "Last-Modified", "Accept-Ranges", "Repr-Digest", "Content-Digest", "X-Vfs-Root-Cid"} {
		h.Del(name)
	}
	return err
}

// Describe says which version of a file an answer is about.
func Describe(h http.Header, f filestore.File) {
	h.Set("Etag", `"`+f.CID+`"`)
	h.Set("X-Vfs-Cid", f.CID)
	h.Set("X-Vfs-Content-Hash", f.Hash)
	h.Set("X-Vfs-Version", strconv.FormatInt(f.Version, 10))
	h.Set("X-Vfs-File-Id", f.ID)
	h.Set("Last-Modified", f.Updated.UTC().Format(http.TimeFormat))
}

// expected fails when If-Match names other content than what is there.
func expected(r *http.Request, f filestore.File) error {
	match, star, err := tags(r.Header.Values("If-Match"))
	if err != nil || star {
		return err
	}
	return filestore.Condition{Match: match}.Check(f, true)
}

// NotModified reports whether the reader has the content already.
func NotModified(r *http.Request, f filestore.File) bool {
	known, err := HasTag(r, f.CID)
	return known && err == nil
}

// serveRanges lets the standard library do what it knows about ranges; the
// content is read in windows, so that little more than asked for is decrypted.
func serveRanges(w http.ResponseWriter, r *http.Request, ranges string, f filestore.File, o *filestore.Opened) error {
	if r.Method != http.MethodHead {
		if err := o.Use(); err != nil {
			return undo(w.Header(), err)
		}
	}
	s := &seeker{o: o}
	defer s.close()
	r = withRange(r, ranges)
	answer := &Late{ResponseWriter: w, Room: firstWindow}
	http.ServeContent(answer, r, "", f.Updated, s)
	return answer.Finish(s.err)
}

// seeker reads ranges of content on demand.
type seeker struct {
	o      *filestore.Opened
	at     int64
	body   io.ReadCloser
	end    int64 // of the open window
	window int64
	err    error
}

// The windows grow, so that a long range needs few of them.
const (
	firstWindow = 256 << 10
	lastWindow  = 16 << 20
)

func (s *seeker) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += s.at
	case io.SeekEnd:
		offset += s.o.Size()
	}
	if offset < 0 {
		return 0, fault.New(fault.RangeUnsatisfiable, "the range lies before the file")
	}
	if offset != s.at {
		s.close()
		s.window = 0
	}
	s.at = offset
	return offset, nil
}

func (s *seeker) Read(p []byte) (int, error) {
	if s.at >= s.o.Size() {
		return 0, io.EOF
	}
	if s.body == nil {
		s.window = min(max(4*s.window, firstWindow), lastWindow)
		n := min(s.window, s.o.Size()-s.at)
		body, err := s.o.Range(s.at, n)
		if err != nil {
			s.err = err
			return 0, err
		}
		s.body, s.end = body, s.at+n
	}
	n, err := s.body.Read(p)
	s.at += int64(n)
	if errors.Is(err, io.EOF) {
		s.close()
		err = nil
		if s.at < s.end {
			err = io.ErrUnexpectedEOF
		}
	}
	if err != nil {
		s.err = err
	}
	return n, err
}

func (s *seeker) close() {
	if s.body != nil {
		_ = s.body.Close()
		s.body = nil
	}
}
