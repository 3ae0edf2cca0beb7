package folder_test

import (
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/internal/service/filestore/folder"
)

// Whoever moves a folder to and fro has each of its files noted each time, in no quota:
// so much at once, and more with time. Others are not told to wait, nor is who deletes.
func TestActsOnFoldersNoteSoMuch(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		const atOnce = 256 << 20
		put(t, w, "/a/1", "/a/2", "/b/3")
		move := func(from, to string) (filestore.Receipt, error) {
			return w.Folders.Move(t.Context(), owner, folder.Ends{From: from, To: to})
		}
		w.Folders.Noted(ns, atOnce)
		if r, err := move("/a", "/c"); err != nil || r.Noted < 2*512 {
			t.Fatalf("%d bytes are noted, %v", r.Noted, err)
		}
		_, err := move("/c", "/a")
		if e := fault.From(err); e.Kind != fault.RateLimited || e.RetryAfter != time.Second {
			t.Errorf("to and fro: %v, after %s", err, e.RetryAfter)
		}
		_, err = w.Folders.Copy(t.Context(), owner, folder.Ends{From: "/c", To: "/d"})
		if !fault.Is(err, fault.RateLimited) {
			t.Errorf("a copy: %v", err)
		}
		if _, err := w.Folders.Trash(t.Context(), owner, "/b", filestore.Once{}); err != nil {
			t.Errorf("deleting: %v", err)
		}
		w.MustPut(t, "did:key:zOther", "/o/1", "x")
		_, err = w.Folders.Move(t.Context(), filestore.Owner("did:key:zOther"), folder.Ends{From: "/o", To: "/p"})
		if err != nil {
			t.Errorf("somebody else: %v", err)
		}
		w.Clock.Add(time.Second)
		if _, err := move("/c", "/a"); err != nil {
			t.Errorf("after a while: %v", err)
		}
	})
}
