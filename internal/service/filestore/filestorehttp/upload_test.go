package filestorehttp_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/blob/blobtest"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func (s *site) begin(path string, headers ...string) string {
	s.t.Helper()
	a := s.own("POST", "/api/fs/upload", "", append(headers, "Tus-Resumable: 1.0.0", "Upload-Metadata: path "+b64(path)+",contentType "+b64("text/plain"))...).want(201)
	return strings.TrimPrefix(a.header.Get("Location"), s.url)
}

func (s *site) patch(at string, offset int, body string, headers ...string) answer {
	s.t.Helper()
	return s.own("PATCH", at, body, append(headers, "Tus-Resumable: 1.0.0", "Content-Type: application/offset+octet-stream", fmt.Sprintf("Upload-Offset: %d", offset))...)
}

func TestResumableUpload(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		content := string(blobtest.Bytes(2<<20 + 12345))
		at := s.begin("/up", fmt.Sprintf("Upload-Length: %d", len(content)))
		s.patch(at, 0, content[:1000]).want(204)
		s.patch(at, 0, content[:1000]).want(409)
		head := s.own("HEAD", at, "", "Tus-Resumable: 1.0.0").want(200)
		if head.header.Get("Upload-Offset") != "1000" || head.header.Get("Upload-Expires") == "" {
			t.Errorf("HEAD %v", head.header)
		}
		other := newSite(t, &filestoretest.World{Service: w.Node(), Clock: w.Clock}) // any node goes on
		other.patch(at, 1000, content[1000:1<<20]).want(204)
		s.own("GET", "/api/fs/content?path=/up", "").want(404) // not half visible
		last := s.patch(at, 1<<20, content[1<<20:]).want(200)
		if last.header.Get("X-Vfs-Cid") != cidOf(t, content) || last.header.Get("X-Vfs-File-Id") == "" || last.header.Get("X-Vfs-Content-Hash") == "" {
			t.Errorf("final answer %v", last.header)
		}
		a := s.own("GET", "/api/fs/content?path=/up", "").want(200)
		if a.body != content || a.header.Get("Content-Type") != "text/plain" {
			t.Error("other content")
		}
		if r := s.own("GET", "/api/fs/content?path=/up", "", "Range: bytes=900-1100").want(206); r.body != content[900:1101] {
			t.Error("a range over two parts is wrong")
		}
		lost := s.own("HEAD", at, "", "Tus-Resumable: 1.0.0").want(200)
		if lost.header.Get("X-Vfs-File-Id") != last.header.Get("X-Vfs-File-Id") {
			t.Error("a client that lost the answer does not find it")
		}
		s.patch(at, len(content), "").want(200)
	})
}

func TestUploadExtensions(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	deferred := s.begin("/deferred", "Upload-Defer-Length: 1")
	s.patch(deferred, 0, "abc").want(204)
	s.patch(deferred, 3, "d", "Upload-Length: 6").want(204)
	s.patch(deferred, 4, "e", "Upload-Length: 6").want(204) // a client that lost the answer says it again
	s.patch(deferred, 5, "f", "Upload-Length: 7").want(400)
	s.patch(deferred, 5, "f", "Upload-Length: 6").want(200)
	if a := s.own("GET", "/api/fs/content?path=/deferred", ""); a.body != "abcdef" {
		t.Errorf("deferred: %q", a.body)
	}
	sum := sha256.Sum256([]byte("good"))
	good := "Upload-Checksum: sha256 " + base64.StdEncoding.EncodeToString(sum[:])
	checked := s.begin("/checked", "Upload-Length: 4")
	s.patch(checked, 0, "evil", good).want(460)
	if a := s.own("HEAD", checked, "", "Tus-Resumable: 1.0.0").want(200); a.header.Get("Upload-Offset") != "0" {
		t.Error("bytes that do not match were kept")
	}
	s.patch(checked, 0, "good", "Upload-Checksum: crc32 AAAA").want(400)
	s.patch(checked, 0, "good", good).want(200)
	empty := s.own("POST", "/api/fs/upload", "", "Tus-Resumable: 1.0.0", "Upload-Length: 0", "Upload-Metadata: path "+b64("/empty")).want(201)
	if empty.header.Get("X-Vfs-Cid") != cidOf(t, "") {
		t.Errorf("empty upload %v", empty.header)
	}
	gone := s.begin("/gone", "Upload-Length: 9")
	s.own("DELETE", gone, "", "Tus-Resumable: 1.0.0").want(204)
	s.own("HEAD", gone, "", "Tus-Resumable: 1.0.0").want(404)
	s.own("POST", "/api/fs/upload", "", "Tus-Resumable: 0.9.0", "Upload-Length: 1").want(412)
	s.own("POST", "/api/fs/upload", "", "Tus-Resumable: 1.0.0", "Upload-Length: 1").want(400)
	s.own("POST", "/api/fs/upload", "", "Tus-Resumable: 1.0.0", "Upload-Length: 99999999999999", "Upload-Metadata: path "+b64("/x")).want(413)
	s.own("POST", "/api/fs/upload", "", "Tus-Resumable: 1.0.0", "Upload-Length: 1", "Upload-Metadata: path "+b64("/empty")).want(409)
	twice := "Upload-Metadata: path " + b64("/one") + ",path " + b64("/other") // nobody knows which one was meant
	s.own("POST", "/api/fs/upload", "", "Tus-Resumable: 1.0.0", "Upload-Length: 1", twice).want(400)
	s.own("POST", "/api/fs/upload", "", "Tus-Resumable: 1.0.0", "Upload-Length: 1", "Upload-Defer-Length: 1",
		"Upload-Metadata: path "+b64("/x")).want(400)
	s.patch(s.begin("/long", "Upload-Length: 2"), 0, "too long").want(413)
	s.do(token(t, bob, "*"), "HEAD", s.begin("/mine", "Upload-Length: 9"), "", "Tus-Resumable: 1.0.0").want(404)
	whole := s.own("POST", "/api/fs/upload", "whole", "Tus-Resumable: 1.0.0", "Upload-Length: 5", "Content-Type: application/offset+octet-stream", "Upload-Metadata: path "+b64("/whole")).want(201)
	if whole.header.Get("X-Vfs-Cid") != cidOf(t, "whole") {
		t.Errorf("creation with upload: %v", whole.header)
	}
}

// A node can go away after the last part is kept and before the file is shown. A
// client that then asks where the upload is, and hears that it is at its end, is
// done: so the file is there.
func TestAnUploadAtItsEndIsAFile(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		access := filestore.Owner(alice.DID)
		// all brings an upload to its end and goes away.
		all := func(at, text string) {
			t.Helper()
			id := at[strings.LastIndexByte(at, '/')+1:]
			release, _, err := w.LockUpload(t.Context(), id, "gone")
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			if _, err := w.WriteUpload(t.Context(), access, id, "gone", 0, strings.NewReader(text), nil); err != nil {
				t.Fatal(err)
			}
		}
		at := s.begin("/whole", "Upload-Length: 5")
		all(at, "whole")
		for range 2 {
			head := s.own("HEAD", at, "", "Tus-Resumable: 1.0.0").want(200)
			if head.header.Get("Upload-Offset") != "5" || head.header.Get("X-Vfs-Cid") != cidOf(t, "whole") {
				t.Errorf("HEAD %v", head.header)
			}
		}
		if a := s.own("GET", "/api/fs/content?path=/whole", "").want(200); a.body != "whole" || a.header.Get("X-Vfs-Version") != "1" {
			t.Errorf("version %s: %q", a.header.Get("X-Vfs-Version"), a.body)
		}
		late := s.begin("/taken", "Upload-Length: 4")
		all(late, "late")
		s.put("/taken", "earlier")
		s.own("HEAD", late, "", "Tus-Resumable: 1.0.0").want(409) // not at its end, since it cannot be shown
	})
}
