package filestorehttp_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob/blobtest"
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
