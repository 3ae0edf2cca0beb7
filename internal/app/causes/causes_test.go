package causes_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/app/causes"
)

// TestACauseIsKnownSinceItBegan lets a part fail between two looks of people: the
// watch has seen it begin, and forgets it when it is gone.
func TestACauseIsKnownSinceItBegan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		var asked atomic.Int64
		watch := causes.New([]causes.Part{
			{Name: "chain", Look: func(context.Context) []string {
				if away.Load() {
					return []string{"main is unreachable; tried at " + time.Now().String()}
				}
				return nil
			}},
			{Name: "models", Costly: true, Look: func(context.Context) []string { asked.Add(1); return nil }},
		}, nil)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); _ = watch.Run(ctx) }()
		time.Sleep(time.Minute)
		away.Store(true)
		began := time.Now()
		time.Sleep(time.Hour)
		if asked.Load() != 0 {
			t.Errorf("what costs was asked %d times without need", asked.Load())
		}
		got := watch.Report(ctx)
		if len(got.Parts[0].Causes) != 1 {
			t.Fatalf("%+v", got)
		}
		since, err := time.Parse(time.RFC3339, got.Parts[0].Causes[0].Since)
		if err != nil || since.Before(began.Add(-time.Second)) || since.After(began.Add(time.Minute)) || got.OK ||
			got.Parts[0].OK || !got.Parts[1].OK {
			t.Errorf("%+v, want since about %s", got, began.UTC())
		}
		away.Store(false)
		want := causes.Report{OK: true, Parts: []causes.PartBody{
			{Name: "chain", OK: true, Causes: []causes.Cause{}}, {Name: "models", OK: true, Causes: []causes.Cause{}},
		}}
		if diff := cmp.Diff(want, watch.Report(ctx)); diff != "" {
			t.Errorf("after it came back (- want):\n%s", diff)
		}
		stop()
		<-ended
	})
}

// TestAPartThatSaysNothingIsNotWell asks one that hangs.
func TestAPartThatSaysNothingIsNotWell(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		watch := causes.New([]causes.Part{{Name: "store", Needed: true, Look: func(ctx context.Context) []string {
			<-ctx.Done()
			return nil
		}}}, nil)
		if got := watch.Report(t.Context()); got.OK || len(got.Parts[0].Causes) != 1 || !got.Parts[0].Needed {
			t.Errorf("%+v", got)
		}
	})
}
