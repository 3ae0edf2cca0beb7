package filestore_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobdisk"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/internal/service/filestore/upkeep"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func blobPut() blob.PutOptions { return blob.PutOptions{} }

// No word of any file is in clear in the data folder: not in objects, not in the
// database, not in its log, not in the search index.
func TestNoTextAtRest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	disk, err := blobdisk.New(filepath.Join(dir, "objects"))
	if err != nil {
		t.Fatal(err)
	}
	w := filestoretest.New(t, sqldbtest.Open(t, "sqlite:"+filepath.Join(dir, "castalia.db"), sqldb.Options{}), disk)
	const secret = "xylophonequartz"
	w.MustPut(t, ns, "/small.txt", "a "+secret+" line\n")
	w.MustPut(t, ns, "/large.txt", strings.Repeat("the "+secret+" again\n", 5000))
	w.Index(context.Background(), t)
	r, err := w.Find.Search(t.Context(), owner, strings.ToUpper(secret), "/", 10)
	if err != nil || len(r.Hits) != 2 || !strings.Contains(r.Hits[0].Preview, secret) {
		t.Fatalf("search does not find it: %+v, %v", r, err)
	}
	found := 0
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		found++
		for _, word := range []string{secret, strings.ToUpper(secret)} {
			if bytes.Contains(b, []byte(word)) {
				t.Errorf("%s holds the text in clear", name)
			}
		}
		return nil
	})
	if err != nil || found < 2 {
		t.Errorf("looked at %d files: %v", found, err)
	}
}

func TestNoTextInPostgres(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		const secret = "xylophonequartz"
		f := w.MustPut(t, ns, "/s.txt", "a "+secret+" line\n")
		w.Index(context.Background(), t)
		for _, table := range []string{"filestore_extents", "filestore_text_segments", "filestore_text_live", "filestore_blobs", "filestore_events", "filestore_versions", "filestore_files"} {
			rows, err := w.DB.Read().QueryContext(t.Context(), "SELECT * FROM "+table)
			if err != nil {
				t.Fatal(err)
			}
			columns, _ := rows.Columns()
			for rows.Next() {
				values := make([]any, len(columns))
				for i := range values {
					values[i] = new(any)
				}
				if err := rows.Scan(values...); err != nil {
					t.Fatal(err)
				}
				for i, v := range values {
					text := fmt.Sprint(*v.(*any))
					if b, ok := (*v.(*any)).([]byte); ok {
						text = string(b)
					}
					if strings.Contains(text, secret) {
						t.Errorf("%s.%s holds the text in clear", table, columns[i])
					}
				}
			}
			if err := rows.Close(); err != nil {
				t.Fatal(err)
			}
		}
		for info, err := range w.Blobs.List(t.Context(), "") {
			if err != nil || strings.Contains(info.Key, f.CID) || strings.Contains(info.Key, f.Hash) {
				t.Errorf("object name %s: %v", info.Key, err)
			}
		}
	})
}

func TestSearch(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		w.MustPut(t, ns, "/a.md", "intro\nthe quick brown fox\njumps\n")
		w.MustPut(t, ns, "/b/celery.md", "quick\n")
		w.MustPut(t, ns, "/b/gone.md", "quick fox\n")
		if _, err := w.Trash(t.Context(), owner, filestore.Target{Path: "/b/gone.md"}); err != nil {
			t.Fatal(err)
		}
		before, err := w.Find.Search(t.Context(), owner, "quick", "/", 10)
		if err != nil || len(before.Hits) != 0 || before.Behind != 4 {
			t.Errorf("before the index: %+v, %v", before, err)
		}
		w.Index(context.Background(), t)
		find := func(q, path string) string {
			t.Helper()
			r, err := w.Find.Search(t.Context(), owner, q, path, 10)
			if err != nil {
				t.Fatal(err)
			}
			if r.Behind != 0 || r.IndexedThrough != 4 {
				t.Errorf("behind %d, through %d", r.Behind, r.IndexedThrough)
			}
			var out []string
			for _, h := range r.Hits {
				out = append(out, fmt.Sprintf("%s:%d-%d", h.File.Path, h.LineStart, h.LineEnd))
			}
			return strings.Join(out, " ")
		}
		for q, want := range map[string]string{"Quick FOX": "/a.md:2-2", "jumps intro": "/a.md:1-3", "absent": "", "celery.md": "/b/celery.md:0-0", "!!": ""} {
			if got := find(q, "/"); got != want {
				t.Errorf("%q finds %q, want %q", q, got, want)
			}
		}
		if got := find("quick", "/b"); got != "/b/celery.md:1-1" {
			t.Errorf("below /b: %q", got)
		}
		narrow := filestore.Access{
			Namespace: ns,
			Grants:    []filestore.Grant{{Abilities: filestore.Read | filestore.List, Area: vfspath.Area{Root: "/b"}}},
		}
		r, err := w.Find.Search(t.Context(), narrow, "quick", "/", 10)
		if err != nil || len(r.Hits) != 1 {
			t.Errorf("a scoped search: %+v, %v", r, err)
		}
	})
}

// stale is an object store that keeps parts of uploads.
type stale struct {
	blob.Store
	before time.Time
}

func (s *stale) AbortStale(_ context.Context, before time.Time) error {
	s.before = before
	return nil
}

func TestTheSweeperDropsPartsOfKilledWriters(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	parts := &stale{Store: w.Blobs}
	svc := filestore.New(filestore.Deps{Store: w.Store, Blobs: parts, Now: w.Clock.Now},
		filestore.Config{MasterKey: filestoretest.MasterKey})
	if _, err := upkeep.New(svc).Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := w.Clock.Now().Add(-48 * time.Hour); !parts.before.Equal(want) {
		t.Errorf("dropped what began before %v, want %v", parts.before, want)
	}
}
