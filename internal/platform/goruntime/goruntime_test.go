package goruntime_test

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/goruntime"
)

// settings are what is in force.
func settings() (threads, percent int) {
	percent = debug.SetGCPercent(100)
	debug.SetGCPercent(percent)
	return runtime.GOMAXPROCS(0), percent
}

func TestServeLeavesWhatTheEnvironmentSays(t *testing.T) {
	threads, percent := settings()
	for _, c := range []struct {
		env                    map[string]string
		moreThreads, otherHeap bool
	}{
		{nil, true, true},
		{map[string]string{"GOGC": "50"}, true, false},
		{map[string]string{"GOMAXPROCS": "3"}, false, true},
		{map[string]string{"GOGC": "50", "GOMAXPROCS": "3"}, false, false},
	} {
		undo := goruntime.Serve(func(name string) string { return c.env[name] })
		nowThreads, nowPercent := settings()
		undo()
		if (nowThreads > threads) != c.moreThreads || (nowPercent > percent) != c.otherHeap {
			t.Errorf("with %v: %d threads of %d, collecting at %d of %d", c.env, nowThreads, threads, nowPercent, percent)
		}
		if a, b := settings(); a != threads || b != percent {
			t.Errorf("with %v, undone: %d threads of %d, collecting at %d of %d", c.env, a, threads, b, percent)
		}
	}
}
