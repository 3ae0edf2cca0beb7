package attachments_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/attachments"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
)

// Users name their homeserver: what it says of them is not read without end.
func TestAHomeserverDoesNotTalkForEver(t *testing.T) {
	t.Parallel()
	const all = 64 << 20
	sent := make(chan int, 1)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n, piece := 0, bytes.Repeat([]byte(" "), 64<<10)
		for n < all {
			if _, err := w.Write(piece); err != nil {
				break
			}
			n += len(piece)
		}
		sent <- n
	}))
	defer web.Close()
	f := attachments.New(attachments.Config{AllowPrivate: true})
	got, _ := f.Fetch(t.Context(), turn.AttachmentQuery{
		HomeServer: web.URL, MatrixToken: "syt_good", Attachments: []oracle.Attachment{{MxcURI: "mxc://x/y"}},
	})
	if n := <-sent; n > all/2 || !strings.Contains(got[0].Note, "could not be read") {
		t.Errorf("%d bytes were taken: %q", n, got[0].Note)
	}
}

// The files themselves may be longer.
func TestALargeFileIsRead(t *testing.T) {
	t.Parallel()
	h := &homeserver{files: map[string][]byte{"large": bytes.Repeat([]byte("text "), 1<<20)}}
	web := httptest.NewServer(h)
	defer web.Close()
	host := strings.TrimPrefix(web.URL, "http://")
	h.user = "@alice:" + host
	f := attachments.New(attachments.Config{AllowPrivate: true})
	got, _ := f.Fetch(t.Context(), turn.AttachmentQuery{
		HomeServer: web.URL, MatrixToken: "syt_good", Attachments: []oracle.Attachment{{MxcURI: "mxc://" + host + "/large"}},
	})
	if got[0].Size != 5<<20 || !strings.HasPrefix(got[0].Text, "text ") {
		t.Errorf("%d bytes: %q", got[0].Size, got[0].Note)
	}
}
