package run

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/castalia-org/castalia/internal/service/oracle"
)

// slow is a store whose writes wait until they may go on.
type slow struct {
	Store
	began, goOn chan struct{}
}

func (s slow) Append(context.Context, Batch) (bool, error) {
	s.began <- struct{}{}
	<-s.goOn
	return false, nil
}

// Whoever flushes waits for a checkpoint that is just being written, also when no
// frame is written with it: what follows must not be done before.
func TestFlushWaitsForACheckpointOnItsWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := slow{began: make(chan struct{}), goOn: make(chan struct{})}
		l := newLog(st, oracle.Run{ID: "r", Epoch: 1, NextSeq: 3}, time.Second, time.Millisecond, func([]oracle.Frame) {},
			func(error) {})
		quit := make(chan struct{})
		go l.flushLoop(t.Context(), quit)
		if err := l.Checkpoint("state"); err != nil {
			t.Fatal(err)
		}
		<-st.began
		flushed := false
		go func() {
			_ = l.Flush(t.Context())
			flushed = true
		}()
		synctest.Wait()
		if flushed {
			t.Error("flushed while the checkpoint was being written")
		}
		close(st.goOn)
		synctest.Wait()
		if !flushed {
			t.Error("not flushed")
		}
		close(quit)
	})
}

// A log that cannot take any more says so to whoever works on the run: to go on
// would be an answer with a hole.
func TestAFullLogEndsTheWork(t *testing.T) {
	t.Parallel()
	var why error
	l := newLog(nil, oracle.Run{ID: "r", NextSeq: 1}, time.Second, time.Millisecond, func([]oracle.Frame) {},
		func(cause error) { why = cause })
	long := oracle.MessageFrame{Content: strings.Repeat("long ", 200_000)}
	var err error
	for i := 0; i < 1000 && err == nil; i++ {
		err = l.Emit(oracle.FrameMessage, long)
	}
	if !errors.Is(err, errLogFull) || !errors.Is(why, errLogFull) {
		t.Errorf("refused with %v, the work was stopped with %v", err, why)
	}
	short := newLog(nil, oracle.Run{ID: "r", NextSeq: 1}, time.Second, time.Millisecond, func([]oracle.Frame) {},
		func(error) { t.Error("stopped") })
	for range 100_000 { // a fast model, and a database that is away for a minute
		if err := short.Emit(oracle.FrameMessage, oracle.MessageFrame{Content: "word "}); err != nil {
			t.Fatal(err)
		}
	}
}
