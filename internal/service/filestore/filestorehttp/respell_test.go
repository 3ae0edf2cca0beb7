package filestorehttp_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// misspelt are texts that a careless reader would take for the id.
func misspelt(id string) []string {
	all := []string{
		strings.ToUpper(id), strings.ReplaceAll(id, "-", ""), "{" + id + "}", "urn:uuid:" + id, " " + id, id + " ",
		id + "\x00", id + "%", id[:len(id)-1],
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == id })
}

// Files, links, uploads and public addresses have ids that the server made; any
// other spelling names nothing.
func TestFileIDsHaveOneSpelling(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		f := s.put("/f", "text")
		s.own("GET", "/api/fs/files/"+f.ID, "").want(200)
		for _, other := range misspelt(f.ID) {
			if got := s.own("GET", "/api/fs/files/"+url.PathEscape(other), ""); got.status != 404 && got.status != 400 {
				t.Errorf("file %q: %d %s", other, got.status, got.body)
			}
		}
		s.share("/f", 1)
		list := decode[filestorehttp.ShareList](s.own("GET", "/api/fs/shares", "").want(200))
		for _, other := range misspelt(list.Shares[0].ID) {
			if got := s.own("DELETE", "/api/fs/shares/"+url.PathEscape(other), ""); got.status != 404 && got.status != 400 {
				t.Errorf("link %q: %d %s", other, got.status, got.body)
			}
		}
		at := s.begin("/up", "Upload-Length: 4")
		id := at[strings.LastIndex(at, "/")+1:]
		for _, other := range misspelt(id) {
			if got := s.own("HEAD", strings.TrimSuffix(at, id)+url.PathEscape(other), "",
				"Tus-Resumable: 1.0.0"); got.status != 404 && got.status != 400 {
				t.Errorf("upload %q: %d %s", other, got.status, got.body)
			}
		}
	})
}

// A key is the text that was sent: in another spelling it is another key.
func TestIdempotencyKeyHasOneSpelling(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		s.own("PUT", "/api/fs/content?path=/f", "one", "Idempotency-Key: key").want(201)
		for i, key := range []string{"KEY", "Key", "key.", "k%65y"} {
			if got := s.own("PUT", "/api/fs/content?path=/f", strings.Repeat("x", i+1), "Idempotency-Key: "+key); got.status != 200 {
				t.Errorf("key %q: %d %s", key, got.status, got.body)
			}
		}
		// What HTTP itself does not distinguish is the same key.
		s.own("PUT", "/api/fs/content?path=/f", "one", "Idempotency-Key:   key ").want(201)
	})
}
