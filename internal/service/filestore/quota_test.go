package filestore_test

import (
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

func TestQuotaCountsVersionsAndTrash(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := w.Node(func(c *filestore.Config) { c.Quota = 100 })
		put := func(path string, size int) error {
			_, err := s.Put(t.Context(), owner, filestore.Put{Path: path, Mode: filestore.Upsert, Body: strings.NewReader(strings.Repeat("x", size))})
			return err
		}
		over := func(what string, err error) {
			t.Helper()
			if fault.From(err).Code != "quota_exceeded" || !fault.Is(err, fault.StorageFull) {
				t.Errorf("%s: %v", what, err)
			}
		}
		for _, size := range []int{60, 40} {
			if err := put("/a", size); err != nil {
				t.Fatal(err)
			}
		}
		over("a byte more", put("/b", 1))
		over("more than fits ever", put("/b", 101))
		if _, err := s.Stat(t.Context(), owner, "/b"); !fault.Is(err, fault.NotFound) {
			t.Errorf("what was refused is there: %v", err)
		}
		if _, err := s.CreateUpload(t.Context(), owner, filestore.NewUpload{Path: "/c", Length: 101}); err == nil {
			t.Error("an upload that can not fit was begun")
		}
		r, err := s.Trash(t.Context(), owner, filestore.Target{Path: "/a"})
		if err != nil {
			t.Fatal(err)
		}
		over("a byte more beside a full trash", put("/b", 1))
		if _, err := s.Purge(t.Context(), owner, filestore.Target{ID: r.File.ID}); err != nil {
			t.Fatal(err)
		}
		if err := put("/b", 100); err != nil {
			t.Errorf("after the purge: %v", err)
		}
	})
}
