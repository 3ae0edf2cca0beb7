package filestorehttp_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob/blobtest"
	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// A connection that breaks in the middle of a part loses nothing of what came
// through it.
func TestCutConnectionKeepsWhatCame(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		content, came := string(blobtest.Bytes(3<<20)), 1<<20+12345
		at := s.begin("/cut", fmt.Sprintf("Upload-Length: %d", len(content)))
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = fmt.Fprintf(conn, "PATCH %s HTTP/1.1\r\nHost: castalia\r\nAuthorization: Bearer %s\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\n"+
			"Content-Type: application/offset+octet-stream\r\nContent-Length: %d\r\n\r\n", at, owner(t), len(content))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, content[:came]); err != nil {
			t.Fatal(err)
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprint(came)
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			head := s.own("HEAD", at, "", "Tus-Resumable: 1.0.0").want(200)
			if head.header.Get("Upload-Offset") == want {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("the upload is at %s, want %s", head.header.Get("Upload-Offset"), want)
			}
		}
		last := s.patch(at, came, content[came:]).want(200)
		if got := last.header.Get("X-Vfs-Cid"); got != cidOf(t, content) {
			t.Errorf("CID %s", got)
		}
	})
}

// A body that stops before its end is no file: what was there stays, and nothing
// appears where nothing was.
func TestCutBodyIsNoVersion(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		was := s.put("/cut", "what was there")
		for _, length := range []int{1000, 100_000, 3 << 20} {
			body := string(blobtest.Bytes(length))
			for name, begin := range map[string]string{
				"length":  fmt.Sprintf("Content-Length: %d\r\n\r\n", length+1),
				"chunked": fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n", length+1),
			} {
				for _, path := range []string{"/cut", "/new"} {
					if got := s.cut(path, begin, body); got != 400 {
						t.Errorf("%s: %d of %d bytes of %s: status %d", name, length, length+1, path, got)
					}
				}
			}
		}
		if f := decode[filestorehttp.FileMetadata](s.own("GET", "/api/fs/stat?path=/cut",
			"").want(200)); f.Version != was.Version || f.CID != was.CID {
			t.Errorf("version %d of %d bytes is there", f.Version, f.Size)
		}
		s.own("GET", "/api/fs/stat?path=/new", "").want(404)
	})
}

// cut sends what it has of a body, closes its side, and returns the answer's status.
func (s *site) cut(path, begin, body string) int {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprintf(conn, "PUT /api/fs/content?path=%s HTTP/1.1\r\nHost: castalia\r\nAuthorization: Bearer %s\r\n%s%s", path, owner(s.t), begin, body); err != nil {
		s.t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		s.t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}
