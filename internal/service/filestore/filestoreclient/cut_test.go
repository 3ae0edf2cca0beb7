package filestoreclient_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/blob/blobtest"
	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoreclient"
)

// A download that is cut is not other content: what came is kept, and the next
// call goes on after it.
func TestContinueAfterACut(t *testing.T) {
	t.Parallel()
	content := blobtest.Bytes(3<<20 + 5)
	id, size, err := cid.Sum(bytes.NewReader(content), cid.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/.well-known/did.json" {
			_, _ = fmt.Fprintf(w, `{"id":%q}`, identitytest.Oracle.DID)
			return
		}
		var from int
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err != nil {
			t.Errorf("range %q: %v", r.Header.Get("Range"), err)
		}
		rest := content[from:]
		w.Header().Set("Content-Length", fmt.Sprint(len(rest)))
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(rest[:min(len(rest), 1<<20)])
		if len(rest) > 1<<20 {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(ts.Close)
	c, err := filestoreclient.New(filestoreclient.Config{Server: ts.URL, Signer: identitytest.Alice.Signer})
	if err != nil {
		t.Fatal(err)
	}
	file := filestoreclient.File{ID: "id", Path: "/large", CID: id.String(), Size: size}
	var kept []byte
	for cut := 1; len(kept) < len(content); cut++ {
		part := &halves{old: bytes.NewReader(kept)}
		err := c.Continue(t.Context(), file, part, func(int64) {})
		if kept = append(kept, part.added...); len(part.added) == 0 {
			t.Fatalf("call %d got nothing: %v", cut, err)
		}
		if last := len(kept) == len(content); last != (err == nil) {
			t.Errorf("call %d, which has %d of %d bytes: %v", cut, len(kept), len(content), err)
		}
		if errors.Is(err, filestoreclient.ErrOther) {
			t.Errorf("call %d: a cut is taken for other content: %v", cut, err)
		}
	}
	if !bytes.Equal(kept, content) {
		t.Error("other bytes")
	}
}

// halves reads what is there and collects what is added.
type halves struct {
	old   io.Reader
	added []byte
}

func (h *halves) Read(p []byte) (int, error) { return h.old.Read(p) }
func (h *halves) Write(p []byte) (int, error) {
	h.added = append(h.added, p...)
	return len(p), nil
}
