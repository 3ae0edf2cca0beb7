package run_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
)

func same(a, b oracle.Frame) bool {
	return a.Seq == b.Seq && a.Event == b.Event && bytes.Equal(a.Data, b.Data)
}

// TestFiveThousandReaders: that many streams on one node all see the whole run,
// also those that came when half of it was said.
func TestFiveThousandReaders(t *testing.T) {
	t.Parallel()
	const readers, words = 5000, 20
	st := oraclesql.New(oracletest.Migrated(t, sqldbtest.SQLite(t)))
	half, full := make(chan struct{}), make(chan struct{})
	e, _ := node(t, st, memory(t), worker{work: func(ctx context.Context, job run.Job) run.Result {
		for i := range words {
			if i == words/2 {
				_ = job.Log.Flush(ctx)
				close(half)
				<-full
			}
			say(job, fmt.Sprint(i))
		}
		return answered("counted")
	}})
	started := start(t, e, oracletest.NewSession(t, st).ID, "count", "")
	seen := make([][]oracle.Frame, readers)
	var all sync.WaitGroup
	follow := func(from, to int) {
		for i := from; i < to; i++ {
			r, err := e.Follow(t.Context(), oracletest.Owner, started.Run.ID, 0)
			must(t, err)
			all.Go(func() {
				defer r.Close()
				seen[i] = read(t, r)
			})
		}
	}
	follow(0, readers/2)
	<-half
	follow(readers/2, readers)
	close(full)
	want := read(t, started.Reader)
	all.Wait()
	if len(want) != words+3 || last(t, want).Status != oracle.Finished {
		t.Fatalf("%d frames: %v", len(want), oracletest.Events(want))
	}
	for i, got := range seen {
		if !slices.EqualFunc(want, got, same) {
			t.Fatalf("reader %d differs (-want +got):\n%s", i, cmp.Diff(want, got))
		}
	}
}
