package folder_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/internal/service/filestore/folder"
)

// A folder of any size is listed to its end, page by page, and each entry once.
func TestALargeFolderIsListedToItsEnd(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		const files, folders = 20_300, 300
		w.MustPut(t, ns, "/large/f00000", "x")
		err := w.DB.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
			_, err := tx.ExecContext(ctx, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20599)
				INSERT INTO filestore_files (id, ns, path, hidden, version, blob_id, cid, hash, size, mime, public_id, created_ms, updated_ms, trashed_ms)
				SELECT f.id || '-' || i, f.ns, CASE WHEN i < 20300 THEN '/large/f' || substr('' || (100000 + i), 2) ELSE '/large/f' || substr('' || (100000 + 50 * (i - 20300)), 2) || '/below' END,
				0, f.version, f.blob_id, f.cid, f.hash, f.size, f.mime, '', 0, 0, 0 FROM filestore_files f, n WHERE f.path = '/large/f00000'`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for after, page := "", 0; ; page++ {
			nodes, next, err := w.Folders.Tree(t.Context(), owner, "/large", after)
			if err != nil || len(nodes) == 0 || page > 3 {
				t.Fatalf("page %d after %q: %d entries, %v", page, after, len(nodes), err)
			}
			for _, n := range nodes {
				key := fmt.Sprint(n.IsFolder, n.Path)
				if seen[key] {
					t.Fatalf("%s is listed twice", key)
				}
				seen[key] = true
			}
			if after = next; after == "" {
				break
			}
		}
		if len(seen) != files+folders {
			t.Errorf("%d entries, want %d", len(seen), files+folders)
		}
		few, next, err := w.Folders.Part(t.Context(), owner, "/large", "", 100)
		if err != nil || len(few) < 100 || len(few) > 200 || next == "" {
			t.Errorf("a hundred at once: %d, %q, %v", len(few), next, err)
		}
		if rest, _, err := w.Folders.Part(t.Context(), owner, "/large", next, 1); err != nil || len(rest) == 0 ||
			rest[0].Path <= few[len(few)-1].Path {
			t.Errorf("after a hundred: %v, %v", rest, err)
		}
		if _, _, err := w.Folders.Tree(t.Context(), owner, "/large", "/other/x"); !fault.Is(err, fault.Invalid) {
			t.Errorf("after an entry of another folder: %v", err)
		}
		if nodes, next, err := w.Folders.Tree(t.Context(), filestore.Owner("did:key:zNobody"), "/large", ""); err != nil ||
			len(nodes) != 0 || next != "" {
			t.Errorf("an empty folder: %v, %q, %v", nodes, next, err)
		}
	})
}

// A page is bounded by its paths too, which answers repeat: of long ones it has fewer.
func TestAPageOfLongPathsIsShort(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		const files = 6000
		at := "/" + strings.Repeat("\u00e9", 999)
		w.MustPut(t, ns, at+"/f00000", "x")
		err := w.DB.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
			_, err := tx.ExecContext(ctx, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5999)
				INSERT INTO filestore_files (id, ns, path, hidden, version, blob_id, cid, hash, size, mime, public_id, created_ms, updated_ms, trashed_ms)
				SELECT f.id || '-' || i, f.ns, substr(f.path, 1, 1001) || 'f' || substr('' || (100000 + i), 2),
				0, f.version, f.blob_id, f.cid, f.hash, f.size, f.mime, '', 0, 0, 0 FROM filestore_files f, n WHERE f.path = $1`, at+"/f00000")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		type listing func(context.Context, filestore.Access, string, string) ([]folder.Node, string, error)
		for name, list := range map[string]listing{"tree": w.Folders.Tree, "page": w.Folders.Page} {
			seen, bytes, before := 0, 0, ""
			for after := ""; ; {
				nodes, next, err := list(t.Context(), owner, at, after)
				if err != nil || len(nodes) == 0 {
					t.Fatalf("%s: %d entries, %v", name, len(nodes), err)
				}
				bytes = 0
				for _, n := range nodes {
					if bytes += len(n.Path); n.Path <= before {
						t.Fatalf("%s: %s is listed twice", name, n.Name)
					}
					before = n.Path
				}
				if bytes > 5<<20 {
					t.Fatalf("%s: a page has %d bytes of paths", name, bytes)
				}
				seen += len(nodes)
				if after = next; after == "" {
					break
				}
			}
			if seen != files {
				t.Errorf("%s: %d entries, want %d", name, seen, files)
			}
		}
	})
}
