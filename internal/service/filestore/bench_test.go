package filestore_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob/blobtest"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// clients is how many callers a benchmark of small files has.
const clients = 64

// together runs do n times, spread over the clients, and returns how long it took.
func together(b *testing.B, n int, do func(i int) error) time.Duration {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for range clients {
		wg.Go(func() {
			for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
				if err := do(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(start)
}

// BenchmarkSmallFiles writes and reads files of 4 KiB on SQLite with 64 clients,
// beside bare group-committed inserts of the same size.
func BenchmarkSmallFiles(b *testing.B) {
	w := filestoretest.Embedded(b)
	ctx := context.Background()
	data := blobtest.Bytes(4 << 10)
	err := w.DB.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		_, err := tx.ExecContext(ctx, `CREATE TABLE bench_bare (id INTEGER PRIMARY KEY, data BLOB)`)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	w.MustPut(b, ns, "/warm", "x")
	const n = 4000
	var bare, write, read time.Duration
	run := 0
	var commits int64
	for b.Loop() {
		run++
		bare += together(b, n, func(int) error {
			return w.DB.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
				_, err := tx.ExecContext(ctx, `INSERT INTO bench_bare (data) VALUES ($1)`, data)
				return err
			})
		})
		before := w.DB.Stats()
		path := func(i int) string { return fmt.Sprintf("/%d/%d/%d", run, i%50, i) }
		write += together(b, n, func(i int) error {
			_, err := w.Put(ctx, owner, filestore.Put{
				Path: path(i), Mode: filestore.CreateOnly, Body: bytes.NewReader(data), Size: int64(len(data)),
			})
			return err
		})
		after := w.DB.Stats()
		commits += after.Commits - before.Commits
		read += together(b, n, func(i int) error {
			_, o, err := w.OpenPath(ctx, owner, path(i))
			if err != nil {
				return err
			}
			r, err := o.Range(0, -1)
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, r)
			return err
		})
	}
	done := float64(n * run)
	b.ReportMetric(done/write.Seconds(), "writes/s")
	b.ReportMetric(done/read.Seconds(), "reads/s")
	b.ReportMetric(done/float64(commits), "writes/commit")
	b.ReportMetric(done/bare.Seconds(), "bare-inserts/s")
	b.ReportMetric(float64(bare)/float64(write), "x-bare")
}

// BenchmarkScale compares listing a thousand files and finding a CID in a
// namespace of a thousand files and in one of a million, in turns. At most 1.5
// is the goal.
func BenchmarkScale(b *testing.B) {
	ctx := context.Background()
	worlds := map[string]*filestoretest.World{}
	sizes := map[string]int{"small": 1000, "large": 1_000_000}
	for name, n := range sizes {
		w := filestoretest.Embedded(b)
		w.MustPut(b, ns, "/a/first", "first")
		fill(b, w, n)
		worlds[name] = w
	}
	var list, find [2]time.Duration
	for b.Loop() {
		for i, name := range []string{"small", "large"} {
			w := worlds[name]
			f, err := w.Stat(ctx, owner, "/a/first")
			if err != nil {
				b.Fatal(err)
			}
			start := time.Now()
			for offset := 0; offset < 1000; offset += filestore.MaxPage {
				if _, err := w.List(ctx, owner, "/a/", filestore.Page{Limit: filestore.MaxPage, Offset: offset}); err != nil {
					b.Fatal(err)
				}
			}
			list[i] += time.Since(start)
			start = time.Now()
			for range 100 {
				if _, _, err := w.OpenCID(ctx, owner, f.CID); err != nil {
					b.Fatal(err)
				}
			}
			find[i] += time.Since(start)
		}
	}
	b.ReportMetric(float64(list[1])/float64(list[0]), "list-ratio")
	b.ReportMetric(float64(find[1])/float64(find[0]), "cid-ratio")
}

// fill copies the row of the first file until there are n, in slices that a
// writer can bear.
func fill(b *testing.B, w *filestoretest.World, n int) {
	b.Helper()
	const slice = 50_000
	for from := 1; from < n; from += slice {
		err := w.DB.Write(context.Background(), func(ctx context.Context, tx sqldb.Querier) error {
			_, err := tx.ExecContext(ctx, `WITH RECURSIVE n(i) AS (SELECT $1 UNION ALL SELECT i + 1 FROM n WHERE i < $2)
				INSERT INTO filestore_files (id, ns, path, hidden, version, blob_id, cid, hash, size, mime, public_id, created_ms, updated_ms, trashed_ms)
				SELECT 'id-' || i, f.ns, CASE WHEN i < 1000 THEN '/a/' ELSE '/b/' END || i, 0, 1, f.blob_id, f.cid || i, f.hash, f.size, f.mime, '', f.created_ms, f.updated_ms, 0
				FROM n, filestore_files f WHERE f.path = '/a/first'`, from, min(from+slice, n)-1)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
