package oracletest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/plugin"
)

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
