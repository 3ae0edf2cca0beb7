package run

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/castalia-org/castalia/internal/platform/bus/busmem"
)

// littered is a store with frames of many runs that ended long ago.
type littered struct {
	Store
	left int
}

func (*littered) Live(context.Context) (bool, error) { return true, nil }

func (*littered) Claimable(context.Context, time.Duration, int) ([]string, error) { return nil, nil }

func (s *littered) Prune(_ context.Context, _ time.Time, limit int) (int, error) {
	n := min(limit, s.left)
	s.left -= n
	return n, nil
}

// Frames go after their time however many runs a node ends.
func TestPruningKeepsUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := busmem.New()
		st := &littered{left: 6000} // a hundred a second, for a minute
		e := New(st, b, nil, Config{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- e.Run(ctx) }()
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		if st.left > 0 {
			t.Errorf("the frames of %d runs are still there", st.left)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		_ = b.Close()
	})
}
