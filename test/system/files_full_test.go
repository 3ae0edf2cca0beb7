package system_test

import (
	"bytes"
	"fmt"
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
	_, err = c.Upload(t.Context(),
		filestoreclient.Upload{Path: "/large", Size: int64(len(large)), Source: bytes.NewReader(large), Want: cidOf(t, large)})
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

// A full disk says so, and can be emptied through the program: every file can be
// deleted and purged, and then there is room again.
func TestAFullDiskCanBeEmptied(t *testing.T) {
	t.Parallel()
	data := filepath.Join(testenv.SmallDisk(t, "48m"), "data")
	w := system.Start(t, system.Embedded, "CASTALIA_DATA="+data)
	who, err := did.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	c := files(t, w.Node(0), who)
	store := func(path string, size int) error {
		_, err := c.Put(t.Context(), path, "application/octet-stream", bytes.NewReader(randomBytes(size, 7)), int64(size), cid.CID{})
		return err
	}
	// Large ones until none fits, then small ones, which go into the database.
	var paths []string
	for _, size := range []int{1 << 20, 30 << 10} {
		for err = error(nil); err == nil && len(paths) < 2000; {
			path := fmt.Sprintf("/f%04d", len(paths))
			if err = store(path, size); err == nil {
				paths = append(paths, path)
			}
		}
		if !filestoreclient.IsStatus(err, http.StatusInsufficientStorage) {
			t.Fatalf("after %d files: %v", len(paths), err)
		}
	}
	t.Logf("%d files fit", len(paths))
	if r := w.Node(0).Get(t, "/ready"); r.Status != http.StatusServiceUnavailable ||
		!strings.Contains(string(r.Body), `"storage":"full"`) {
		t.Errorf("/ready of a full disk: %d %s", r.Status, r.Body)
	}
	for _, path := range paths {
		f, err := c.Remove(t.Context(), path)
		if err != nil {
			t.Fatalf("delete %s: %v", path, err)
		}
		if err := c.Purge(t.Context(), f.ID); err != nil {
			t.Fatalf("purge %s: %v", path, err)
		}
	}
	// More than what lifts the disk over its reserve: all of the room comes back.
	system.Eventually(t, "everything was purged, and there is room", func() error { return store("/again", 24<<20) })
	w.Node(0).WaitReady()
}
