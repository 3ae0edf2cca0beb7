package oracletest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/service/oracle"
)

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
