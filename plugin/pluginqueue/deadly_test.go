package pluginqueue_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/plugin/pluginqueue"
)

// Work that panics has failed; it does not end the program.
func TestWorkThatPanicsHasFailed(t *testing.T) {
	t.Parallel()
	s := store(t, sqldbtest.SQLite(t))
	q := pluginqueue.New(s, pluginqueue.Config{Name: "q", Attempts: 1})
	add(t, s, q, "bad", 1)
	outcome, err := q.Handle(t.Context(), take(t, q, 1)[0],
		func(context.Context, pluginqueue.Item) (pluginqueue.Finish, error) {
			panic("oops")
		})
	if err != nil || outcome != pluginqueue.Buried {
		t.Errorf("the outcome is %v, %v", outcome, err)
	}
	aside, err := q.Buried(t.Context(), "", 10)
	if err != nil || len(aside) != 1 || !strings.Contains(aside[0].Error, "oops") {
		t.Errorf("put aside: %+v %v", aside, err)
	}
}

// An item whose workers die, one after the other, is put aside like one that
// fails: it may be what they die of.
func TestAnItemOfWhichWorkersDieIsPutAside(t *testing.T) {
	t.Parallel()
	url := sqldbtest.SQLiteURL(t)
	synctest.Test(t, func(t *testing.T) {
		s := store(t, sqldbtest.Open(t, url, sqldb.Options{}))
		q := pluginqueue.New(s, pluginqueue.Config{Name: "q", Attempts: 3, Lease: time.Second})
		add(t, s, q, "deadly", 1)
		taken := 0
		for range 20 {
			taken += len(take(t, q, 1)) // and nobody hears of the worker again
			time.Sleep(2 * time.Second)
		}
		aside, err := q.Buried(t.Context(), "", 10)
		if err != nil || len(aside) != 1 || taken != 6 {
			t.Errorf("taken %d times, put aside: %+v %v", taken, aside, err)
		}
	})
}
