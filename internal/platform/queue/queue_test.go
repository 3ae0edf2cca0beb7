package queue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/castalia-org/castalia/internal/platform/queue"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func each(t *testing.T, body func(t *testing.T, db *sqldb.DB)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		body(t, sqldbtest.Migrate(t, open(t), queue.Migrations()))
	})
}

func add(t *testing.T, db *sqldb.DB, q *queue.Queue, lane, id string) bool {
	t.Helper()
	var added bool
	if err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) (err error) {
		added, err = q.Add(ctx, tx, queue.Item{ID: id, Lane: lane, Payload: []byte(lane + id)}, 0)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return added
}

func take(t *testing.T, q *queue.Queue, n int) []queue.Item {
	t.Helper()
	items, err := q.Take(t.Context(), n, nil)
	if err != nil {
		t.Fatal(err)
	}
	return items
}

func ids(items []queue.Item) []string {
	var out []string
	for _, it := range items {
		out = append(out, it.ID)
	}
	slices.Sort(out)
	return out
}

// What a transaction that failed has added is not there, and an id waits once.
func TestItemsBelongToTheirTransaction(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB) {
		q := queue.New(db, queue.Config{Name: "q"})
		boom := errors.New("boom")
		err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
			if _, err := q.Add(ctx, tx, queue.Item{ID: "a", Lane: "x"}, 0); err != nil {
				return err
			}
			return boom
		})
		if !errors.Is(err, boom) || len(take(t, q, 5)) != 0 {
			t.Errorf("an item of a failed transaction was handed out: %v", err)
		}
		if !add(t, db, q, "x", "a") || add(t, db, q, "x", "a") {
			t.Error("an id was not added once")
		}
		got := take(t, queue.New(db, queue.Config{Name: "q"}), 5)
		if len(got) != 1 || got[0].Lane != "x" || string(got[0].Payload) != "xa" || got[0].Attempt != 1 || got[0].Last {
			t.Errorf("taken %+v", got)
		}
		if other := take(t, queue.New(db, queue.Config{Name: "other"}), 5); len(other) != 0 {
			t.Errorf("another queue has %+v", other)
		}
		if n, oldest, err := q.Waiting(t.Context()); err != nil || n != 1 || oldest.IsZero() {
			t.Errorf("waiting %d since %v, %v", n, oldest, err)
		}
		for _, bad := range []queue.Item{
			{Lane: "x"},
			{ID: "b"},
			{ID: string(make([]byte, 256)), Lane: "x"},
			{ID: "b", Lane: "x", Payload: make([]byte, 64<<10+1)},
		} {
			if err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
				_, err := q.Add(ctx, tx, bad, 0)
				return err
			}); err == nil {
				t.Errorf("added %.20q in %.20q", bad.ID, bad.Lane)
			}
		}
	})
}

// A lane with much to do does not keep the others waiting.
func TestLanesTakeTurns(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB) {
		q := queue.New(db, queue.Config{Name: "q"})
		for i := range 20 {
			add(t, db, q, "busy", fmt.Sprintf("busy%02d", i))
		}
		add(t, db, q, "a", "a1")
		add(t, db, q, "z", "z1")
		add(t, db, q, "z", "z2")
		if d := cmp.Diff([]string{"a1", "busy00", "z1"}, ids(take(t, q, 10))); d != "" {
			t.Error(d)
		}
		first, second := ids(take(t, q, 1)), ids(take(t, q, 1))
		if d := cmp.Diff([]string{"busy01", "z2"}, slices.Concat(first, second)); d != "" {
			t.Error(d)
		}
		items, err := q.Take(t.Context(), 5, func(lane string) bool { return lane == "busy" })
		if err != nil || len(items) != 0 {
			t.Errorf("a lane that was to be left out: %v %v", ids(items), err)
		}
	})
}

// Many workers on two nodes: every item is done, and finished once, although
// each fails at first.
func TestManyWorkers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB) {
		const count = 40
		cfg := queue.Config{Name: "q", Backoff: time.Millisecond, MaxBackoff: 2 * time.Millisecond}
		for i := range count {
			add(t, db, queue.New(db, cfg), fmt.Sprint("lane", i%3), fmt.Sprint("item", i))
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		var mu sync.Mutex
		tries, finished := map[string]int{}, map[string]int{}
		var nodes sync.WaitGroup
		for range 2 {
			q := queue.New(db, cfg)
			nodes.Go(func() {
				err := q.Work(ctx, queue.Crew{Parallel: 4, PerLane: 2, Every: 5 * time.Millisecond},
					func(_ context.Context, it queue.Item) (queue.Outcome, error) {
						mu.Lock()
						defer mu.Unlock()
						switch tries[it.ID]++; tries[it.ID] {
						case 1:
							return queue.Outcome{Failed: true}, nil
						case 2:
							panic("oops")
						}
						return queue.Outcome{Write: func(context.Context, sqldb.Querier) error {
							mu.Lock()
							defer mu.Unlock()
							if finished[it.ID]++; len(finished) == count {
								stop()
							}
							return nil
						}}, nil
					})
				if err != nil {
					t.Error(err)
				}
			})
			if db.Dialect() == sqldb.SQLite {
				break // a file belongs to one process
			}
		}
		nodes.Wait()
		if len(finished) != count || errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			t.Errorf("%d of %d are done", len(finished), count)
		}
	})
}

// Whoever lost an item cannot write any more, and who took it over can.
func TestLostItems(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB) {
		q := queue.New(db, queue.Config{Name: "q", Lease: time.Millisecond})
		add(t, db, q, "x", "a")
		slow := take(t, q, 1)[0]
		var quick []queue.Item
		for len(quick) == 0 {
			quick = take(t, q, 1)
		}
		wrote := func(context.Context, sqldb.Querier) error { t.Error("a lost item was written"); return nil }
		for name, err := range map[string]error{
			"renew": q.Renew(t.Context(), slow), "retry": q.Retry(t.Context(), slow, 0, wrote),
			"release": q.Release(t.Context(), slow),
			"finish":  q.Finish(t.Context(), slow, wrote),
		} {
			if !errors.Is(err, queue.ErrLost) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := q.Finish(t.Context(), quick[0], nil); err != nil {
			t.Error(err)
		}
	})
}

// Pauses grow from seconds to a day and are never longer.
func TestPauses(t *testing.T) {
	t.Parallel()
	c := queue.Config{}
	middle := 5 * time.Second
	for n := 1; n < 100; n++ {
		least, most := middle/2, min(middle*3/2, 24*time.Hour)
		for range 20 {
			if got := c.Pause(n); got < min(least, 12*time.Hour) || got > most {
				t.Fatalf("after failure %d: %v, want %v to %v", n, got, least, most)
			}
		}
		middle = min(4*middle, 24*time.Hour)
	}
}

// The last try is told, a hastened item begins anew, and work that stops gives
// back what it has.
func TestTriesAreCounted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB) {
		q := queue.New(db, queue.Config{Name: "q", Attempts: 2})
		add(t, db, q, "x", "a")
		if err := q.Retry(t.Context(), take(t, q, 1)[0], 0, nil); err != nil {
			t.Fatal(err)
		}
		second := take(t, q, 1)
		if len(second) != 1 || second[0].Attempt != 2 || !second[0].Last {
			t.Fatalf("%+v", second)
		}
		hasten := func() (did bool) {
			if err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) (err error) {
				did, err = q.Hasten(ctx, tx, "a")
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return did
		}
		if hasten() {
			t.Error("an item that somebody holds was hastened")
		}
		if err := q.Retry(t.Context(), second[0], time.Hour, nil); err != nil || len(take(t, q, 1)) != 0 || !hasten() {
			t.Fatalf("an item that waits: %v", err)
		}
		if again := take(t, q, 1); len(again) != 1 || again[0].Attempt != 1 {
			t.Errorf("%+v", again)
		}
	})
}

// A worker that hangs loses its item when the lease cannot be renewed, keeps it
// while it can, and does not keep other lanes from their turn.
func TestAHungLaneLeavesRoom(t *testing.T) {
	t.Parallel()
	url := sqldbtest.SQLiteURL(t)
	synctest.Test(t, func(t *testing.T) {
		db := sqldbtest.Migrate(t, sqldbtest.Open(t, url, sqldb.Options{}), queue.Migrations())
		q := queue.New(db, queue.Config{Name: "q", Lease: 9 * time.Second})
		for i := range 10 {
			add(t, db, q, "hung", fmt.Sprint("hung", i))
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan string, 20)
		var all sync.WaitGroup
		all.Go(func() {
			if err := q.Work(ctx, queue.Crew{Parallel: 3, PerLane: 2, Every: time.Second},
				func(ctx context.Context, it queue.Item) (queue.Outcome, error) {
					if it.Lane == "hung" {
						<-ctx.Done()
						return queue.Outcome{}, ctx.Err()
					}
					done <- it.ID
					return queue.Outcome{}, nil
				}); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(time.Minute)
		add(t, db, q, "free", "mine")
		if got := <-done; got != "mine" {
			t.Error(got)
		}
		stop()
		all.Wait()
		if back := take(t, q, 5); len(back) != 1 || back[0].Attempt != 1 {
			t.Errorf("what was under way at the stop: %+v", back)
		}
	})
}
