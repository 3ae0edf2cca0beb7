package filestoreclient

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/cid"
)

// partSize is what one request of a resumable upload carries; a failure loses at
// most that much.
const partSize = 32 << 20

// retries is how often a part is tried before the upload is left for later.
const retries = 5

func encode(v any) (*bytes.Reader, error) {
	b, err := json.Marshal(v)
	return bytes.NewReader(b), err
}

// Upload is a resumable upload of a file.
type Upload struct {
	Path, MimeType string
	Size           int64
	Source         io.ReaderAt
	// New refuses to store a new version of a file that exists.
	New bool
	// Want is the content's CID.
	Want cid.CID
	// Location is where an earlier try has left off; empty begins anew. Begun is
	// told the location, so that a later try can go on.
	Location string
	Begun    func(location string)
	// Progress, when set, is told how many bytes are safe.
	Progress func(done int64)
}

// Upload sends a file in parts and goes on after failures.
func (c *Client) Upload(ctx context.Context, u Upload) (File, error) {
	offset := int64(0)
	location := u.Location
	if location != "" {
		res, err := c.tus(ctx, request{method: http.MethodHead, path: location})
		if err != nil && !IsStatus(err, http.StatusNotFound) && !IsStatus(err, http.StatusGone) {
			return File{}, err
		}
		if err != nil {
			location = "" // it is over: begin anew
		} else if f, done := finished(res, u.Path, u.Size); done {
			return f, check(f.CID, u.Want, u.Path)
		} else if offset, err = offsetOf(res); err != nil {
			return File{}, err
		}
	}
	if location == "" {
		var err error
		if location, err = c.begin(ctx, u); err != nil {
			return File{}, err
		}
		if u.Begun != nil {
			u.Begun(location)
		}
	}
	return c.parts(ctx, u, location, offset)
}

// tus sends a request whose answer is in its headers.
func (c *Client) tus(ctx context.Context, q request) (http.Header, error) {
	if q.header == nil {
		q.header = map[string]string{}
	}
	q.header["Tus-Resumable"] = "1.0.0"
	res, err := c.do(ctx, q)
	if err != nil {
		return nil, err
	}
	return res.Header, res.Body.Close()
}

func (c *Client) begin(ctx context.Context, u Upload) (string, error) {
	meta := "path " + base64.StdEncoding.EncodeToString([]byte(u.Path)) + ",contentType " +
		base64.StdEncoding.EncodeToString([]byte(u.MimeType))
	if !u.New {
		meta += ",overwrite " + base64.StdEncoding.EncodeToString([]byte("true"))
	}
	res, err := c.tus(ctx, request{
		method: http.MethodPost, path: api + "/upload",
		header: map[string]string{"Upload-Length": strconv.FormatInt(u.Size, 10), "Upload-Metadata": meta},
	})
	if err != nil {
		return "", err
	}
	return res.Get("Location"), nil
}

// parts sends what is missing. After a failure it asks where to go on.
func (c *Client) parts(ctx context.Context, u Upload, location string, offset int64) (File, error) {
	for failed := 0; ; {
		res, err := c.part(ctx, u, location, offset)
		if err == nil {
			failed = 0
			if f, done := finished(res, u.Path, u.Size); done {
				return f, check(f.CID, u.Want, u.Path)
			}
			if offset, err = offsetOf(res); err != nil {
				return File{}, err
			}
			if u.Progress != nil {
				u.Progress(offset)
			}
			continue
		}
		if failed++; failed > retries || ctx.Err() != nil || !again(err) {
			return File{}, err
		}
		select {
		case <-time.After(time.Duration(failed) * 500 * time.Millisecond):
		case <-ctx.Done():
			return File{}, ctx.Err()
		}
		if res, err := c.tus(ctx, request{method: http.MethodHead, path: location}); err == nil {
			if f, done := finished(res, u.Path, u.Size); done {
				return f, check(f.CID, u.Want, u.Path)
			}
			if offset, err = offsetOf(res); err != nil {
				return File{}, err
			}
		}
	}
}

func (c *Client) part(ctx context.Context, u Upload, location string, offset int64) (http.Header, error) {
	n := min(partSize, u.Size-offset)
	return c.tus(ctx, request{
		method: http.MethodPatch, path: location, body: io.NewSectionReader(u.Source, offset, n), length: n,
		header: map[string]string{"Upload-Offset": strconv.FormatInt(offset, 10), "Content-Type": "application/offset+octet-stream"},
	})
}

// again reports whether a failure may pass: everything but a refusal.
func again(err error) bool {
	e, ok := errors.AsType[*StatusError](err)
	return !ok || e.Status >= 500 || e.Status == http.StatusConflict || e.Status == http.StatusLocked ||
		e.Status == http.StatusTooManyRequests
}

func offsetOf(h http.Header) (int64, error) {
	n, err := strconv.ParseInt(h.Get("Upload-Offset"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the server does not say how far the upload is")
	}
	return n, nil
}

// finished reads the file from the answer that ends an upload.
func finished(h http.Header, path string, size int64) (File, bool) {
	id := h.Get("X-Vfs-File-Id")
	f := File{ID: id, Path: path, Size: size, CID: h.Get("X-Vfs-Cid"), ContentHash: h.Get("X-Vfs-Content-Hash")}
	f.Version, _ = strconv.ParseInt(h.Get("X-Vfs-Version"), 10, 64)
	return f, id != ""
}
