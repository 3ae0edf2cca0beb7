package run

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/service/oracle"
)

// leaving is a store whose reads end with their context, as a database's do.
type leaving struct{ Store }

func (leaving) Frames(ctx context.Context, _ string, _ int64, _ int) ([]oracle.Frame, Head, error) {
	<-ctx.Done()
	return nil, Head{}, ctx.Err()
}

// TestAReaderThatLeavesInTheMiddleOfALookIsDone once span for ever: the look
// failed with the reader's own context, and the reader looked again.
func TestAReaderThatLeavesInTheMiddleOfALookIsDone(t *testing.T) {
	t.Parallel()
	h := newHub(leaving{}, func(string, func()) func() { return func() {} }, func(string) bool { return false })
	r := h.open("run", 0, 0, false)
	defer r.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := r.Next(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the reader that left was told %v", err)
	}
	r.tail.mu.Lock()
	defer r.tail.mu.Unlock()
	if !r.tail.dirty || r.tail.fetching {
		t.Error("nobody will look for the readers that stay")
	}
}

// A reader that waits is sent away at once; what is there is read first.
func TestAReaderLeavesWhenItIsTold(t *testing.T) {
	t.Parallel()
	h := newHub(leaving{}, func(string, func()) func() { return func() {} }, func(string) bool { return true })
	r := h.open("run", 0, 0, true)
	defer r.Close()
	leave := make(chan struct{})
	r.Until(leave)
	waited := make(chan error, 1)
	go func() {
		_, err := r.Next(t.Context(), time.Hour)
		waited <- err
	}()
	close(leave)
	if err := <-waited; !errors.Is(err, ErrLeaving) {
		t.Errorf("the reader that waited was told %v", err)
	}
	h.push("run", []oracle.Frame{{Seq: 1, Event: oracle.FrameMessage}})
	if frames, err := r.Next(t.Context(), time.Hour); len(frames) != 1 || err != nil {
		t.Errorf("%d frames and %v", len(frames), err)
	}
	if _, err := r.Next(t.Context(), time.Hour); !errors.Is(err, ErrLeaving) {
		t.Errorf("the reader that has all was told %v", err)
	}
}
