package oracletest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/plugin"
)

func testRequestIDs(t *testing.T, st Store) {
	s := NewSession(t, st)
	a, err := say(t, st, s.ID, "hi", oracle.Enqueue, "same", true)
	must(t, err)
	b, err := say(t, st, s.ID, "hi", oracle.Enqueue, "same", true)
	must(t, err)
	if !b.Repeat || b.Run.ID != a.Run.ID {
		t.Errorf("a repeated request started another run: %+v", b)
	}
	c, err := say(t, st, s.ID, "hi", oracle.Enqueue, "same", false)
	must(t, err)
	if c.Run.RequestID == "same" {
		t.Error("two live runs share a request id")
	}
	found, err := st.ByRequest(t.Context(), Owner, s.ID, "same")
	if err != nil || found.ID != a.Run.ID {
		t.Errorf("by request: %v %v", found.ID, err)
	}
	if _, err := st.Run(t.Context(), Stranger, a.Run.ID); !errors.Is(err, oracle.ErrRunNotFound) {
		t.Errorf("a stranger read a run: %v", err)
	}
	latest, ok, err := st.Latest(t.Context(), Owner, s.ID)
	if err != nil || !ok || latest.ID != c.Run.ID {
		t.Errorf("latest: %v %v %v", latest.ID, ok, err)
	}
	live, err := st.DeleteSession(t.Context(), Owner, s.ID)
	if err != nil || len(live) != 2 {
		t.Errorf("live runs of a deleted session: %v %v", live, err)
	}
	if _, _, err := st.Frames(t.Context(), a.Run.ID, 0, 1); !errors.Is(err, oracle.ErrRunNotFound) {
		t.Errorf("frames of a deleted session: %v", err)
	}
}

func testPrune(t *testing.T, st Store) {
	ctx := t.Context()
	s := NewSession(t, st)
	r := Say(t, st, s.ID, "hi", oracle.Interrupt).Run
	Answer(t, st, r, "ho")
	if n, err := st.Prune(ctx, time.Now().Add(-time.Hour), 10); err != nil || n != 0 {
		t.Fatalf("pruned too early: %d %v", n, err)
	}
	if n, err := st.Prune(ctx, time.Now().Add(time.Hour), 10); err != nil || n != 1 {
		t.Fatalf("pruned %d, %v", n, err)
	}
	frames, head, err := st.Frames(ctx, r.ID, 0, 10)
	if err != nil || len(frames) != 0 || !head.Pruned {
		t.Errorf("after pruning: %v %+v %v", frames, head, err)
	}
}

func testKeys(t *testing.T, st Store) {
	ctx := t.Context()
	ks, other := st.PluginStore("a"), st.PluginStore("b")
	must(t, ks.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		for _, k := range []string{"u/1", "u/2", "u/3", "v/1", "u"} {
			if err := tx.Put(ctx, k, []byte(k), 0); err != nil {
				return err
			}
		}
		return tx.Put(ctx, "u/4", []byte("gone"), time.Nanosecond)
	}))
	names := func(r plugin.Range) (out []string) {
		list, err := ks.Scan(ctx, r)
		must(t, err)
		for _, e := range list {
			out = append(out, e.Key)
		}
		return out
	}
	for _, c := range []struct {
		r    plugin.Range
		want []string
	}{
		{plugin.Range{Prefix: "u/"}, []string{"u/1", "u/2", "u/3"}},
		{plugin.Range{Prefix: "u/", After: "u/1", Limit: 1}, []string{"u/2"}},
		{plugin.Range{Prefix: "u/", After: "u/3", Reverse: true}, []string{"u/2", "u/1"}},
		{plugin.Range{}, []string{"u", "u/1", "u/2", "u/3", "v/1"}},
	} {
		if d := cmp.Diff(c.want, names(c.r)); d != "" {
			t.Errorf("%+v: %s", c.r, d)
		}
	}
	if _, ok, err := other.Get(ctx, "u"); ok || err != nil {
		t.Errorf("another plugin reads the key: %v %v", ok, err)
	}
	if err := ks.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		if err := tx.Delete(ctx, "u"); err != nil {
			return err
		}
		return errors.New("changed my mind")
	}); err == nil {
		t.Error("the error of an update was swallowed")
	}
	if _, ok, _ := ks.Get(ctx, "u"); !ok {
		t.Error("a failed update deleted a key")
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 5 {
				if err := ks.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
					v, _, err := tx.Get(ctx, "count")
					if err != nil {
						return err
					}
					n, _ := strconv.Atoi(string(v))
					return tx.Put(ctx, "count", []byte(strconv.Itoa(n+1)), 0)
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if v, _, _ := ks.Get(ctx, "count"); string(v) != "40" {
		t.Errorf("40 increments gave %s", v)
	}
}
