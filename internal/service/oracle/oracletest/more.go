package oracletest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
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
	if _, err := say(t, st, s.ID, "something else", oracle.Enqueue, "same", true); !errors.Is(err, run.ErrReused) {
		t.Errorf("another message under the same request id: %v", err)
	}
	c, err := say(t, st, s.ID, "hi", oracle.Enqueue, "same", false)
	must(t, err)
	if c.Run.RequestID == "same" {
		t.Error("two live runs share a request id")
	}
	found, err := st.ByRequest(t.Context(), Owner, s.ID, "same")
	if err != nil || found.ID != a.Run.ID || found.BeganBy != "token of hi" {
		t.Errorf("by request: %v %v", found.ID, err)
	}
	if _, err := st.Run(t.Context(), Stranger, a.Run.ID); !errors.Is(err, oracle.ErrRunNotFound) {
		t.Errorf("a stranger read a run: %v", err)
	}
	if one, err := st.Abort(t.Context(), Owner, s.ID, a.Run.ID); err != nil || len(one) != 1 || one[0].ID != a.Run.ID {
		t.Errorf("aborted by name: %v %v", one, err)
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

// testManyOfOneRequest: whoever says the same again and again gets the id each time,
// unless it is being answered.
func testManyOfOneRequest(t *testing.T, st Store) {
	s := NewSession(t, st)
	for i := range 20 {
		begun, err := say(t, st, s.ID, "hi", oracle.Enqueue, "same", false)
		must(t, err)
		if begun.Run.RequestID != "same" {
			t.Fatalf("number %d has another id", i)
		}
		other, err := say(t, st, NewSession(t, st).ID, "hi", oracle.Enqueue, "same", false)
		must(t, err)
		if other.Run.RequestID == "same" {
			t.Fatalf("number %d shares its id", i)
		}
		Answer(t, st, begun.Run, "hello")
	}
}

// testMarks: what is remembered of a run is stored with it, or not at all.
func testMarks(t *testing.T, st Store) {
	ctx, now := t.Context(), time.Now()
	begin := func(session, key string) error {
		r := oracle.Run{
			ID: oracle.NewID(), SessionID: session, Owner: Owner, RequestID: key, MessageID: oracle.NewID(), CreatedAt: now,
		}
		_, err := st.Begin(ctx, run.Begin{
			Run: r, TTL: time.Minute, Minted: true,
			Message: oracle.Message{
				ID: r.MessageID, SessionID: session, RunID: r.ID, Role: oracle.Human, Content: "hi", CreatedAt: now,
			},
			Marks:  []run.Mark{{Store: "marks", Key: key, Value: []byte("is there"), For: time.Hour}},
			Frames: func(oracle.Run) ([]oracle.Frame, error) { return nil, nil },
		})
		return err
	}
	must(t, begin(NewSession(t, st).ID, "kept"))
	if err := begin("nowhere", "lost"); !errors.Is(err, oracle.ErrSessionNotFound) {
		t.Errorf("a run of no session: %v", err)
	}
	marks := st.PluginStore("marks")
	if value, ok, err := marks.Get(ctx, "kept"); err != nil || !ok || string(value) != "is there" {
		t.Errorf("%q %v %v", value, ok, err)
	}
	if _, ok, err := marks.Get(ctx, "lost"); err != nil || ok {
		t.Errorf("a mark without its run: %v %v", ok, err)
	}
	if _, ok, err := st.PluginStore("others").Get(ctx, "kept"); err != nil || ok {
		t.Errorf("in the store of another: %v %v", ok, err)
	}
}

// testWhole ends runs with all their frames at once, short ones and long ones:
// however a store keeps them, they read the same.
func testWhole(t *testing.T, st Store) {
	ctx := t.Context()
	s := NewSession(t, st)
	for _, size := range []int{1, 100_000} {
		r := Say(t, st, s.ID, "hi", oracle.Interrupt).Run
		end := ending(t, r, oracle.Message{ID: oracle.NewID(), Role: oracle.AI, Content: "x", CreatedAt: time.Now()})
		end.Whole = true
		done := end.Frames[0]
		end.Frames = nil
		for i := range 3 {
			f, err := oracle.NewFrame(oracle.FrameMessage,
				oracle.MessageFrame{Content: strings.Repeat("x", size) + "\n" + fmt.Sprint(i)})
			must(t, err)
			f.Seq = r.NextSeq + int64(i)
			end.Frames = append(end.Frames, f)
		}
		done.Seq = r.NextSeq + 3
		end.Frames = append(end.Frames, done)
		for range 2 { // also when the first acknowledgement got lost
			must(t, st.Finish(ctx, end))
		}
		for cut := range end.Frames {
			frames, head, err := st.Frames(ctx, r.ID, r.NextSeq-1+int64(cut), 10)
			must(t, err)
			if d := cmp.Diff(end.Frames[cut:], frames); d != "" {
				t.Errorf("size %d, frames after the first %d: %s", size, cut, d)
			}
			if head.LastSeq != done.Seq || head.Status != oracle.Finished {
				t.Errorf("head: %+v", head)
			}
		}
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
