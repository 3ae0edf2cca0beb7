package sqldb_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/test/testenv"
)

func benchDB(b *testing.B, url string) *sqldb.DB {
	b.Helper()
	return sqldbtest.Migrate(b, sqldbtest.Open(b, url, sqldb.Options{MaxWriters: 16}), tableSet("demo",
		`id {{int}} NOT NULL PRIMARY KEY, n {{int}} NOT NULL DEFAULT 0, body {{blob}}`))
}

func engines(b *testing.B, body func(b *testing.B, url string)) {
	b.Helper()
	b.Run("sqlite", func(b *testing.B) { body(b, sqldbtest.SQLiteURL(b)) })
	b.Run("postgres", func(b *testing.B) { body(b, testenv.Postgres(b)) })
}

// hop is about what one USSD hop writes: a compare-and-set and an insert.
func hop(db *sqldb.DB, id int64, body []byte) error {
	return db.Write(context.Background(), func(ctx context.Context, tx sqldb.Querier) error {
		if _, err := tx.ExecContext(ctx, `UPDATE demo_things SET n = n + 1 WHERE id = $1 AND n = $2`, id-1, 0); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO demo_things (id, body) VALUES ($1, $2)`, id, body)
		return err
	})
}

// BenchmarkWrite measures durable writes by one writer and by 64 at once, and
// how many of them share a commit.
func BenchmarkWrite(b *testing.B) {
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			engines(b, func(b *testing.B, url string) {
				db := benchDB(b, url)
				body := make([]byte, 200)
				var next atomic.Int64
				before, used := db.Stats(), processTime(b)
				b.ReportAllocs()
				b.ResetTimer()
				var wg sync.WaitGroup
				for range writers {
					wg.Go(func() {
						for {
							id := next.Add(1)
							if id > int64(b.N) {
								return
							}
							if err := hop(db, id, body); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				b.StopTimer()
				after := db.Stats()
				b.ReportMetric(float64((processTime(b)-used).Microseconds())/float64(b.N), "cpu-µs/write")
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
				b.ReportMetric(float64(after.Writes-before.Writes)/float64(max(after.Commits-before.Commits, 1)), "writes/commit")
				b.ReportMetric(float64(after.Retries-before.Retries)/float64(b.N), "retries/write")
			})
		})
	}
}

// processTime is the processor time that this process has used.
func processTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkWriteAgainstSync compares group-committed writes of 64 writers with
// the disk's own pace: how many appended and synced blocks it takes a second.
func BenchmarkWriteAgainstSync(b *testing.B) {
	dir := b.TempDir()
	syncs := syncRate(b, filepath.Join(dir, "sync"))
	db := benchDB(b, "sqlite:"+filepath.Join(dir, "castalia.db"))
	var next atomic.Int64
	b.SetParallelism(32) // times GOMAXPROCS
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		body := make([]byte, 200)
		for pb.Next() {
			if err := hop(db, next.Add(1), body); err != nil {
				b.Error(err)
				return
			}
		}
	})
	rate := float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate, "writes/s")
	b.ReportMetric(syncs, "syncs/s")
	b.ReportMetric(rate/syncs, "writes/sync")
}

func syncRate(b *testing.B, path string) float64 {
	b.Helper()
	file, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	block := make([]byte, 4096)
	start, n := time.Now(), 0
	for ; n < 200; n++ {
		if _, err := file.Write(block); err != nil {
			b.Fatal(err)
		}
		if err := file.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	return float64(n) / time.Since(start).Seconds()
}

// BenchmarkRead measures one row by its key.
func BenchmarkRead(b *testing.B) {
	engines(b, func(b *testing.B, url string) {
		db := benchDB(b, url)
		if err := hop(db, 1, make([]byte, 200)); err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				var n int64
				var body []byte
				err := db.Read().QueryRowContext(ctx, `SELECT n, body FROM demo_things WHERE id = $1`, 1).Scan(&n, &body)
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}

// BenchmarkPage measures a page whose length is an argument, in turns with one whose
// length is written in the statement.
func BenchmarkPage(b *testing.B) {
	db := benchDB(b, sqldbtest.SQLiteURL(b))
	for id := range int64(100) {
		if err := hop(db, id, nil); err != nil {
			b.Fatal(err)
		}
	}
	page := func(text string, args ...any) time.Duration {
		used := processTime(b)
		for range 100 {
			if _, err := sqldb.Strings(context.Background(), db.Read(), text, args...); err != nil {
				b.Fatal(err)
			}
		}
		return processTime(b) - used
	}
	var argument, written time.Duration
	for b.Loop() {
		argument += page(`SELECT 'x' FROM demo_things WHERE id > $1 ORDER BY id LIMIT $2`, 50, 2)
		written += page(`SELECT 'x' FROM demo_things WHERE id > $1 ORDER BY id LIMIT 2`, 50)
	}
	b.ReportMetric(float64(argument.Nanoseconds())/float64(100*b.N), "cpu-ns/page")
	b.ReportMetric(float64(argument)/float64(written), "x-written")
}

// BenchmarkFeed measures writers that all want numbers of one feed.
func BenchmarkFeed(b *testing.B) {
	engines(b, func(b *testing.B, url string) {
		db := benchDB(b, url)
		before := db.Stats()
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				err := db.Write(context.Background(), func(ctx context.Context, tx sqldb.Querier) error {
					_, err := sqldb.NextFeed(ctx, tx, "feed")
					return err
				})
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
		b.ReportMetric(float64(db.Stats().Retries-before.Retries)/float64(b.N), "retries/write")
	})
}
