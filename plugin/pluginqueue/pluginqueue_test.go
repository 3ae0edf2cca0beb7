package pluginqueue_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/pluginqueue"
)

func store(t *testing.T, db *sqldb.DB) plugin.Store {
	t.Helper()
	return oraclesql.New(oracletest.Migrated(t, db)).PluginStore("queue-test")
}

func add(t *testing.T, s plugin.Store, q *pluginqueue.Queue, id string, payload any) (added bool) {
	t.Helper()
	err := s.Update(t.Context(), func(ctx context.Context, tx plugin.Tx) (err error) {
		added, err = q.Add(ctx, tx, id, payload, 0)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return added
}

func take(t *testing.T, q *pluginqueue.Queue, n int) []pluginqueue.Item {
	t.Helper()
	items, err := q.Take(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return items
}

// Many workers share a queue. Every item is finished once, and what finishing
// writes is written once.
func TestManyWorkers(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		s := store(t, open(t))
		const count = 30
		q := pluginqueue.New(s, pluginqueue.Config{Name: "q", Backoff: time.Millisecond})
		for i := range count {
			if id := fmt.Sprint("item/", i); !add(t, s, q, id, i) || add(t, s, q, id, i) {
				t.Fatalf("%s was not added once", id)
			}
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		var mu sync.Mutex
		tries := map[string]int{}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				err := pluginqueue.New(s, pluginqueue.Config{Name: "q", Backoff: time.Millisecond}).Work(ctx, 3,
					10*time.Millisecond, nil,
					func(_ context.Context, it pluginqueue.Item) (pluginqueue.Finish, error) {
						mu.Lock()
						defer mu.Unlock()
						if tries[it.ID]++; tries[it.ID] == 1 {
							return nil, errors.New("not yet")
						}
						return func(ctx context.Context, tx plugin.Tx) error {
							_, twice, err := tx.Get(ctx, "done "+it.ID)
							if twice {
								t.Errorf("%s was finished twice", it.ID)
							}
							if err != nil {
								return err
							}
							return tx.Put(ctx, "done "+it.ID, nil, 0)
						}, nil
					})
				if err != nil {
					t.Error(err)
				}
			})
		}
		for {
			done, err := s.Scan(ctx, plugin.Range{Prefix: "done "})
			if err != nil {
				t.Fatal(err)
			}
			if len(done) == count {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		stop()
		all.Wait()
		if add(t, s, q, "item/3", 3) {
			t.Error("a finished item was added again")
		}
	})
}

// Whoever lost an item cannot write any more.
func TestLostItems(t *testing.T) {
	t.Parallel()
	s := store(t, sqldbtest.SQLite(t))
	q := pluginqueue.New(s, pluginqueue.Config{Name: "q", Lease: time.Millisecond})
	add(t, s, q, "a", "first")
	slow := take(t, q, 5)[0]
	var quick []pluginqueue.Item
	for len(quick) == 0 {
		quick = take(t, q, 5)
	}
	if quick[0].Attempt != 2 || quick[0].ID != "a" {
		t.Errorf("%+v", quick[0])
	}
	if err := q.Save(t.Context(), quick[0], "second"); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"renew": q.Renew(t.Context(), slow), "save": q.Save(t.Context(), slow, "slow"),
		"postpone": q.Postpone(t.Context(), slow, 0),
		"bury":     q.Bury(t.Context(), slow, ""), "finish": q.Finish(t.Context(), slow, nil),
	} {
		if !errors.Is(err, pluginqueue.ErrLost) {
			t.Errorf("%s: %v", name, err)
		}
	}
	outcome, err := q.Handle(t.Context(), slow, func(context.Context, pluginqueue.Item) (pluginqueue.Finish, error) {
		return nil, nil
	})
	if outcome != pluginqueue.Lost || err != nil {
		t.Errorf("%v %v", outcome, err)
	}
}

// Whoever cannot renew an item does not go on when another worker may have it.
func TestWorkEndsWhenAnItemCanNotBeRenewed(t *testing.T) {
	t.Parallel()
	url := sqldbtest.SQLiteURL(t)
	synctest.Test(t, func(t *testing.T) {
		var b sqldbtest.Breaker
		s := store(t, sqldbtest.Open(t, url, sqldb.Options{Fault: b.Fault}))
		q := pluginqueue.New(s, pluginqueue.Config{Name: "q", Lease: 9 * time.Second})
		handle := func(id string, fn func(ctx context.Context) error) pluginqueue.Outcome {
			add(t, s, q, id, 1)
			outcome, err := q.Handle(t.Context(), take(t, q, 1)[0],
				func(ctx context.Context, _ pluginqueue.Item) (pluginqueue.Finish, error) {
					return nil, fn(ctx)
				})
			if err != nil {
				t.Errorf("%s: %v", id, err)
			}
			return outcome
		}
		if got := handle("away", func(ctx context.Context) error {
			defer b.Restore()
			b.Break()
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(9*time.Second + time.Millisecond):
				t.Error("it goes on under a lease that is over")
				return nil
			}
		}); got != pluginqueue.Lost {
			t.Errorf("the outcome is %v", got)
		}
		if got := handle("away for a moment", func(ctx context.Context) error {
			b.BreakFor(5 * time.Second)
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Minute):
				return nil
			}
		}); got != pluginqueue.Finished {
			t.Errorf("after a short outage the outcome is %v", got)
		}
	})
}

// A store that was away for a moment does not keep the queue waiting for the
// slowest of its items.
func TestWorkGoesOnBesideASlowItem(t *testing.T) {
	t.Parallel()
	url := sqldbtest.SQLiteURL(t)
	synctest.Test(t, func(t *testing.T) {
		var b sqldbtest.Breaker
		s := store(t, sqldbtest.Open(t, url, sqldb.Options{Fault: b.Fault}))
		q := pluginqueue.New(s, pluginqueue.Config{Name: "q", Lease: 9 * time.Second})
		add(t, s, q, "slow", 1)
		ctx, stop := context.WithCancel(t.Context())
		began, quick, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			for ctx.Err() == nil { // as whoever keeps a worker going does
				err := q.Work(ctx, 2, time.Second, nil, func(ctx context.Context, it pluginqueue.Item) (pluginqueue.Finish, error) {
					if it.ID == "quick" {
						close(quick)
						return nil, nil
					}
					close(began)
					select {
					case <-ctx.Done():
					case <-time.After(time.Hour):
					}
					return nil, ctx.Err()
				})
				if err != nil {
					t.Log(err)
				}
			}
			ended <- nil
		}()
		<-began
		b.BreakFor(3 * time.Second)
		<-time.After(4 * time.Second)
		add(t, s, q, "quick", 1)
		select {
		case <-quick:
		case <-time.After(time.Minute):
			t.Error("the queue stands still")
		}
		stop()
		<-ended
	})
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		s := store(t, open(t))
		q := pluginqueue.New(s, pluginqueue.Config{Name: "q", Backoff: time.Hour, Attempts: 1, Remember: time.Hour})
		patient := pluginqueue.New(s, pluginqueue.Config{Name: "p", Backoff: time.Hour})
		for _, c := range []struct {
			q    *pluginqueue.Queue
			id   string
			err  error
			want pluginqueue.Outcome
		}{
			{q, "fine", nil, pluginqueue.Finished},
			{q, "later", pluginqueue.Later(time.Hour), pluginqueue.Postponed},
			{q, "last", errors.New("it broke"), pluginqueue.Buried},
			{patient, "hopeless", fmt.Errorf("wrapped: %w", pluginqueue.Hopeless(errors.New("never"))), pluginqueue.Buried},
			{patient, "failed", errors.New("it broke"), pluginqueue.Failed},
			{patient, "lost", fmt.Errorf("wrapped: %w", pluginqueue.ErrLost), pluginqueue.Lost},
		} {
			add(t, s, c.q, c.id, c.id)
			items := take(t, c.q, 5)
			if len(items) != 1 || items[0].ID != c.id {
				t.Fatalf("%s: %+v", c.id, items)
			}
			got, err := c.q.Handle(t.Context(), items[0], func(context.Context, pluginqueue.Item) (pluginqueue.Finish, error) {
				return nil, c.err
			})
			if got != c.want || err != nil {
				t.Errorf("%s: %v %v, want %v", c.id, got, err, c.want)
			}
			if known, err := c.q.Known(t.Context(), c.id); err != nil || !known || add(t, s, c.q, c.id, "") {
				t.Errorf("%s was added again, or is not known: %v", c.id, err)
			}
		}
		buried, err := q.Buried(t.Context(), "", 10)
		if err != nil || len(buried) != 1 || buried[0].ID != "last" || buried[0].Error != "it broke" {
			t.Errorf("%+v %v", buried, err)
		}
		for i, want := range []bool{true, false} {
			if again, err := q.Requeue(t.Context(), "last"); again != want || err != nil {
				t.Errorf("requeue %d: %v %v", i, again, err)
			}
		}
		items := take(t, q, 10)
		var ids []string
		for _, it := range items {
			ids = append(ids, it.ID)
		}
		if d := cmp.Diff([]string{"last"}, ids); d != "" || items[0].Attempt != 1 {
			t.Error(d, items)
		}
	})
}

// A program that stops gives its items back at once.
func TestStoppingGivesBack(t *testing.T) {
	t.Parallel()
	s := store(t, sqldbtest.SQLite(t))
	q := pluginqueue.New(s, pluginqueue.Config{Name: "q", Lease: time.Hour})
	add(t, s, q, "a", 1)
	ctx, stop := context.WithCancel(t.Context())
	outcome, err := q.Handle(ctx, take(t, q, 1)[0],
		func(ctx context.Context, _ pluginqueue.Item) (pluginqueue.Finish, error) {
			stop()
			return nil, ctx.Err()
		})
	if outcome != pluginqueue.Lost || err != nil {
		t.Errorf("%v %v", outcome, err)
	}
	if again := take(t, q, 1); len(again) != 1 || again[0].Attempt != 1 {
		t.Errorf("%+v", again)
	}
}

func TestBadIDs(t *testing.T) {
	t.Parallel()
	s := store(t, sqldbtest.SQLite(t))
	q := pluginqueue.New(s, pluginqueue.Config{Name: "q"})
	for _, id := range []string{"", string(make([]byte, 201))} {
		if err := s.Update(t.Context(), func(ctx context.Context, tx plugin.Tx) error {
			_, err := q.Add(ctx, tx, id, 1, 0)
			return err
		}); err == nil {
			t.Errorf("%q was added", id)
		}
	}
}
