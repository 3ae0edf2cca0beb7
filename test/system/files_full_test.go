package system_test

import (
	"bytes"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoreclient"
	"github.com/castalia-org/castalia/test/system"
	"github.com/castalia-org/castalia/test/testenv"
)

// On a full disk an upload is refused as such, what is stored stays, and when
// there is room again the program goes on by itself.
func TestFilesOnAFullDisk(t *testing.T) {
	t.Parallel()
	data := filepath.Join(testenv.SmallDisk(t, "48m"), "data")
	w := system.Start(t, system.Embedded, "CASTALIA_DATA="+data)
	who, err := did.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	c := files(t, w.Node(0), who)
	kept := randomBytes(1<<20+77, 5)
	store := func(path string, b []byte) error {
		_, err := c.Put(t.Context(), path, "application/octet-stream", bytes.NewReader(b), int64(len(b)), cidOf(t, b))
		return err
	}
	if err := store("/kept", kept); err != nil {
		t.Fatal(err)
	}
	large := randomBytes(64<<20, 6)
	for range 3 {
		// The answer comes while the client is still sending: it may see the line break instead.
		if err := store("/large", large); err == nil {
			t.Error("more was taken than the disk holds")
		}
	}
	if !strings.Contains(w.Node(0).Log(), `"status":507`) {
		t.Error("the program did not say that it is full")
	}
	_, err = c.Upload(t.Context(), filestoreclient.Upload{Path: "/large", Size: int64(len(large)), Source: bytes.NewReader(large), Want: cidOf(t, large)})
	if err == nil {
		t.Error("an upload in parts fits on a disk that is too small")
	}
	var got bytes.Buffer
	if _, err := c.Get(t.Context(), "/kept", 0, &got); err != nil || !bytes.Equal(got.Bytes(), kept) {
		t.Errorf("what was there: %v", err)
	}
	if _, err := c.Stat(t.Context(), "/large"); !filestoreclient.IsStatus(err, http.StatusNotFound) {
		t.Errorf("half of an upload shows: %v", err)
	}
	if _, err := c.Put(t.Context(), "/small", "text/plain", strings.NewReader("there is room for this"), 22, cid.CID{}); err != nil {
		t.Errorf("a small file after a large one was refused: %v", err)
	}
	w.Node(0).Stop()
	if text, code := system.Run(t, w.Env, "doctor", "--deep"); code != 0 {
		t.Errorf("doctor: exit %d\n%s", code, text)
	}
}
