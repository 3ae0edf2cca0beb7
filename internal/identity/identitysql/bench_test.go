package identitysql_test

import (
	"context"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitysql"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

// BenchmarkStartWithAMillionRevocations is what a starting node pays for them, in time and
// in memory that it keeps.
func BenchmarkStartWithAMillionRevocations(b *testing.B) {
	const many = 1_000_000
	db := sqldbtest.Migrate(b, sqldbtest.SQLite(b), identitysql.Migrations())
	err := db.Write(b.Context(), func(ctx context.Context, tx sqldb.Querier) error {
		_, err := tx.ExecContext(ctx, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
			INSERT INTO identity_revocations (feed, kind, target, revoked_by, at_ms, until_ms)
			SELECT i, 'cid', 'bafyreib' || replace(replace(replace(replace(
				printf('%050d', i), '0', 'a'), '1', 'b'), '8', 'c'), '9', 'd') || 'a', 'did:key:zAda', 1, 0 FROM n`, many)
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
		s := identitytest.New(b, func(d *identity.Deps, _ *identity.Config) { d.Store = identitysql.New(db) })
		if err := s.Load(b.Context()); err != nil {
			b.Fatal(err)
		}
		took += processTime(b) - began
		runtime.GC()
		runtime.ReadMemStats(&after)
		if n := s.Stats().Revocations; n != many {
			b.Fatalf("%d are known", n)
		}
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB")
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
