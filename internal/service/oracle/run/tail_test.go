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
