package quiet_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/castalia-org/castalia/internal/platform/quiet"
)

const (
	pause   = time.Second
	longest = 5 * time.Second
	between = 500 * time.Millisecond
)

// rest has a worker look and rest, and returns how long it did.
func rest(s *quiet.Sleeper, calm bool) time.Duration {
	s.Look()
	began := time.Now()
	s.Rest(calm)
	<-s.C
	return time.Since(began)
}

// tell says what is visible twice a second until it returns false.
func tell(w *quiet.Watch, visible func(since time.Duration) (string, bool)) {
	began := time.Now()
	for {
		name, ok := visible(time.Since(began))
		if !ok {
			return
		}
		w.Told(time.Now(), name)
		time.Sleep(between)
	}
}

// TestHowLongAWorkerRests has workers that look twice, the second time after what they
// could see at the first was told.
func TestHowLongAWorkerRests(t *testing.T) {
	t.Parallel()
	const change = 12200 * time.Millisecond // seen by the reading at 12.5 s
	for name, c := range map[string]struct {
		calm    bool
		visible func(since time.Duration) (string, bool)
		want    []time.Duration
	}{
		"nothing changes": {
			calm: true, visible: func(time.Duration) (string, bool) { return "a", true },
			want: []time.Duration{longest, longest, longest},
		},
		"it has something that is due later": {
			visible: func(time.Duration) (string, bool) { return "a", true },
			want:    []time.Duration{pause, pause, pause},
		},
		"something changes": {
			calm: true, visible: func(since time.Duration) (string, bool) {
				if since < change {
					return "a", true
				}
				return "b", true
			},
			// It looks at 0.1, 5.1 and 10.1 s; the reading of 12.5 s wakes it.
			want: []time.Duration{longest, longest, 2400 * time.Millisecond, longest},
		},
		"everything changes all the time": {
			calm: true, visible: func(since time.Duration) (string, bool) { return since.String(), true },
			want: []time.Duration{pause, pause, pause},
		},
		"nobody can say": {
			calm: true, visible: func(time.Duration) (string, bool) { return "", true },
			want: []time.Duration{pause, pause},
		},
		"nobody says anything any longer": {
			calm: true, visible: func(since time.Duration) (string, bool) { return "a", since < 11*time.Second },
			// What was told at 10.5 s counts at 11.1 s, and no longer at 15.1 s.
			want: []time.Duration{longest, longest, longest, pause, pause},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, over := &quiet.Watch{}, make(chan struct{})
				var telling sync.WaitGroup
				telling.Go(func() {
					tell(w, func(since time.Duration) (string, bool) {
						select {
						case <-over:
							return "", false
						default:
						}
						return c.visible(since)
					})
				})
				time.Sleep(between / 5)
				s := w.Sleeper(pause)
				defer s.Stop()
				for i, want := range c.want {
					if got := rest(s, c.calm); got != want {
						t.Errorf("rest %d was %s, want %s", i+1, got, want)
					}
				}
				close(over)
				telling.Wait()
			})
		})
	}
}

// TestAChangeDuringTheLookIsNotSleptThrough: what became visible between the reading and the
// look may have been seen by the look or not, so the worker looks again after its pause.
func TestAChangeDuringTheLookIsNotSleptThrough(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &quiet.Watch{}
		w.Told(time.Now(), "a")
		s := w.Sleeper(pause)
		defer s.Stop()
		s.Look()
		began := time.Now()
		w.Told(time.Now(), "b") // while it looks
		s.Rest(true)
		<-s.C
		if rested := time.Since(began); rested != pause {
			t.Errorf("it rested for %s, want %s", rested, pause)
		}
	})
}

// TestWithoutAWatchAPauseIsAPause, and a clock that was stopped is silent.
func TestWithoutAWatchAPauseIsAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w *quiet.Watch
		w.Told(time.Now(), "a")
		s := w.Sleeper(pause)
		for range 3 {
			if rested := rest(s, true); rested != pause {
				t.Errorf("it rested for %s, want %s", rested, pause)
			}
		}
		s.Look()
		s.Rest(true)
		s.Stop()
		time.Sleep(2 * longest)
		select {
		case <-s.C:
			t.Error("a clock that was stopped rings")
		default:
		}
	})
}

// TestWhoIsWokenOtherwiseBeginsANewRest: the clock of the rest before does not ring into it.
func TestWhoIsWokenOtherwiseBeginsANewRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &quiet.Watch{}
		s := w.Sleeper(pause)
		defer s.Stop()
		s.Look()
		s.Rest(false)
		time.Sleep(pause / 2) // something else wakes it
		if rested := rest(s, false); rested != pause {
			t.Errorf("it rested for %s, want %s", rested, pause)
		}
		s.Look()
		s.Rest(false)
		time.Sleep(2 * pause) // it is at work and does not hear the clock
		if rested := rest(s, false); rested != pause {
			t.Errorf("after work it rested for %s, want %s", rested, pause)
		}
	})
}
