package run_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
)

// BenchmarkAbort measures the time from an abort on one node to the moment in
// which the work on another hears of it, and to the done frame that a reader
// gets. The bar is 200 ms.
func BenchmarkAbort(b *testing.B) {
	st := oraclesql.New(oracletest.Migrated(b, sqldbtest.SQLite(b)))
	hints := memory(b)
	heard := make(chan time.Time, 1)
	near, _ := node(b, st, hints, worker{work: func(ctx context.Context, _ run.Job) run.Result {
		<-ctx.Done()
		heard <- time.Now()
		return run.Result{Status: oracle.Aborted}
	}})
	far, _ := node(b, st, hints, echo)
	s := oracletest.NewSession(b, st)
	var stopped, ended []time.Duration
	for b.Loop() {
		started := start(b, near, s.ID, "go", "")
		began := time.Now()
		if ok, err := far.Abort(b.Context(), oracletest.Owner, s.ID); !ok || err != nil {
			b.Fatalf("abort: %v %v", ok, err)
		}
		stopped = append(stopped, (<-heard).Sub(began))
		last(b, read(b, started.Reader))
		ended = append(ended, time.Since(began))
		started.Reader.Close()
	}
	slices.Sort(stopped)
	slices.Sort(ended)
	report := func(name string, d time.Duration) { b.ReportMetric(float64(d.Microseconds())/1000, name) }
	report("p50-heard-ms", stopped[len(stopped)/2])
	report("p99-heard-ms", stopped[len(stopped)*99/100])
	report("p99-done-ms", ended[len(ended)*99/100])
}
