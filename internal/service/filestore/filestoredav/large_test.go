package filestoredav_test

import (
	"context"
	"database/sql/driver"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob/blobdisk"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// largeFiles is how many files fillLarge leaves in /large.
const largeFiles = 10_000

// fillLarge makes a large folder, of which all files have the content of the first.
func fillLarge(t testing.TB, w *filestoretest.World) {
	t.Helper()
	w.MustPut(t, alice.DID, "/large/f00000", "x")
	err := w.DB.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
		_, err := tx.ExecContext(ctx, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
			INSERT INTO filestore_files (id, ns, path, hidden, version, blob_id, cid, hash, size, mime, public_id, created_ms, updated_ms, trashed_ms)
			SELECT f.id || '-' || i, f.ns, '/large/f' || substr('' || (100000 + i), 2),
			0, f.version, f.blob_id, f.cid, f.hash, f.size, f.mime, '', 0, 0, 0 FROM filestore_files f, n WHERE f.path = '/large/f00000'`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// statements returns a store on SQLite with a count of what it asks of the tables of files.
func statements(t testing.TB) (*filestoretest.World, *atomic.Int64) {
	t.Helper()
	var n atomic.Int64
	db := sqldbtest.Open(t, sqldbtest.SQLiteURL(t), sqldb.Options{
		Seen: func(query string, _ []driver.NamedValue) {
			// An app key is a delegation: whether it is a link that is counted is asked apart.
			if strings.Contains(query, "filestore_") && !strings.Contains(query, "filestore_shares") {
				n.Add(1)
			}
		},
	})
	disk, err := blobdisk.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return filestoretest.New(t, db, disk), &n
}

// propfindLarge asks for a large folder as rclone does, and counts the statements.
func propfindLarge(t testing.TB, s *site, n *atomic.Int64) int64 {
	t.Helper()
	n.Store(0)
	got := s.want(207, s.do("PROPFIND", "/dav/large/", propsOfRclone, "Depth: 1"))
	if listed := strings.Count(got.body, "<D:response>"); listed != largeFiles+1 {
		t.Fatalf("%d are listed", listed)
	}
	return n.Load()
}

// What reaches the database for a large folder is one statement, whatever asks it.
func TestALargeFolderIsOneStatement(t *testing.T) {
	t.Parallel()
	w, n := statements(t)
	s := newSite(t, w)
	fillLarge(t, w)
	if got := propfindLarge(t, s, n); got != 1 {
		t.Errorf("%d statements", got)
	}
}

// BenchmarkPropfind lists a folder of 10,000 files by WebDAV, in turns with its one query
// alone.
func BenchmarkPropfind(b *testing.B) {
	w, n := statements(b)
	s := newSite(b, w)
	fillLarge(b, w)
	owner := filestore.Owner(alice.DID)
	var all, alone time.Duration
	var asked int64
	for b.Loop() {
		start := time.Now()
		asked += propfindLarge(b, s, n)
		all += time.Since(start)
		start = time.Now()
		nodes, next, err := w.Folders.Page(b.Context(), owner, "/large", "")
		if err != nil || len(nodes) != largeFiles || next != "" {
			b.Fatalf("%d entries, %q, %v", len(nodes), next, err)
		}
		alone += time.Since(start)
	}
	b.ReportMetric(float64(asked)/float64(b.N), "statements/op")
	b.ReportMetric(float64(all.Milliseconds())/float64(b.N), "ms/propfind")
	b.ReportMetric(float64(all)/float64(alone), "x-query")
}
