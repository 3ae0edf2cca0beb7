package ussdsql_test

import (
	"context"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

// BenchmarkHandle measures a dial and one input without HTTP, 64 at a time.
func BenchmarkHandle(b *testing.B) {
	db := sqldbtest.Migrate(b, sqldbtest.SQLite(b), ussdsql.Migrations())
	svc := ussdtest.Service(b, ussdsql.New(db))
	if err := svc.Warm(b.Context()); err != nil {
		b.Fatal(err)
	}
	var n atomic.Int64
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			req := ussd.Request{SessionID: strconv.FormatInt(n.Add(1), 10), ServiceCode: "*2233#", Phone: "+260971230001"}
			for _, text := range []string{"", "1"} {
				req.Text = text
				if _, err := svc.Handle(b.Context(), req); err != nil {
					b.Error(err)
					return
				}
			}
		}
	})
}

// BenchmarkStartWithAMillionTelephones is what a starting node pays for them, in processor
// time and in memory that it keeps.
func BenchmarkStartWithAMillionTelephones(b *testing.B) {
	db := sqldbtest.Migrate(b, sqldbtest.SQLite(b), ussdsql.Migrations())
	err := db.Write(b.Context(), func(ctx context.Context, tx sqldb.Querier) error {
		_, err := tx.ExecContext(ctx, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
			INSERT INTO ussd_phones (phone, language, updated_ms) SELECT '+254' || (700000000 + i), 'en', i FROM n`)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	var before, after runtime.MemStats
	var took time.Duration
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		began := processTime(b)
		svc := ussdtest.Service(b, ussdsql.New(db))
		if err := svc.Warm(b.Context()); err != nil {
			b.Fatal(err)
		}
		took += processTime(b) - began
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(svc)
	}
	b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/1e6, "MB")
	b.ReportMetric(took.Seconds()/float64(b.N), "cpu-s")
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
