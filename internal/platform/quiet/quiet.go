// Package quiet spares the database looks that would find nothing.
//
// Workers look every second for work that others have committed. Most of the time
// nobody has, and nodes that nobody asks anything would keep their database busy for
// nothing. One statement of the node tells, twice a second, what is visible in the
// database; as long as that is the same, whoever has looked and found nothing need not
// look again.
//
// It promises that nobody looks later than by a pause of their own because of it: a
// worker that rests longer is woken as soon as something else is visible, and after
// some seconds anyway. It refuses to know of work that becomes due by time alone: who
// has any says so, and rests no longer than before.
//
// Decision: ADR 0301.
package quiet

import (
	"sync"
	"time"
)

const (
	// longest is how long a worker rests at most.
	longest = 5 * time.Second
	// goodFor is how long what was visible counts: two looks, and a little.
	goodFor = 1250 * time.Millisecond
)

// Watch knows what was visible in a database last. A nil Watch knows nothing.
type Watch struct {
	mu       sync.Mutex
	visible  string
	began    time.Time
	sleepers map[*Sleeper]struct{}
}

// Told is given a name for all that a reading saw which began at a time: two readings with
// the same name saw the same. An empty name means that nobody can say.
func (w *Watch) Told(began time.Time, visible string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	w.visible, w.began = visible, began
	all := make([]*Sleeper, 0, len(w.sleepers))
	for s := range w.sleepers {
		all = append(all, s)
	}
	w.mu.Unlock()
	for _, s := range all {
		s.told(visible)
	}
}

// now is the name of what is visible, or empty when that was told too long ago.
func (w *Watch) now() string {
	if w == nil {
		return ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.began) > goodFor {
		return ""
	}
	return w.visible
}

// Sleeper is one worker's alarm clock. Its methods are for one goroutine.
type Sleeper struct {
	// C says that it is time to look.
	C <-chan struct{}

	watch *Watch
	pause time.Duration
	ring  chan struct{}
	timer *time.Timer

	mu      sync.Mutex
	resting bool
	calm    bool
	seen    string // what was visible before the last look
	looked  time.Time
}

// Sleeper returns the clock of a worker that pauses so long between two looks. It is to
// be stopped.
func (w *Watch) Sleeper(pause time.Duration) *Sleeper {
	s := &Sleeper{watch: w, pause: pause, ring: make(chan struct{}, 1)}
	s.C = s.ring
	s.timer = time.AfterFunc(time.Hour, s.due)
	s.timer.Stop()
	if w != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.sleepers == nil {
			w.sleepers = map[*Sleeper]struct{}{}
		}
		w.sleepers[s] = struct{}{}
	}
	return s
}

// Stop ends the clock: C is silent from then on.
func (s *Sleeper) Stop() {
	if s.watch != nil {
		s.watch.mu.Lock()
		delete(s.watch.sleepers, s)
		s.watch.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resting = false
	s.timer.Stop()
}

// Look is called before the worker looks.
func (s *Sleeper) Look() {
	seen := s.watch.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resting, s.seen, s.looked = false, seen, time.Now()
	s.timer.Stop()
	select {
	case <-s.ring:
	default:
	}
}

// Rest sets the clock after a look. If that found nothing at all, nor anything that is
// due later, the worker is calm, and rests for longer than its pause while nothing else
// becomes visible.
func (s *Sleeper) Rest(calm bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resting, s.calm = true, calm
	s.timer.Reset(time.Until(s.looked.Add(s.pause)))
}

// due is called when the pause is over, and when nobody rests any longer.
func (s *Sleeper) due() {
	visible := s.watch.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	rested := time.Since(s.looked)
	switch {
	case !s.resting:
	case rested < s.pause:
		s.timer.Reset(s.pause - rested) // it was set anew while this began
	case rested < longest && s.calm && s.seen != "" && visible == s.seen:
		s.timer.Reset(longest - rested)
	default:
		s.wake()
	}
}

// told ends a rest that is longer than the pause when something else is visible.
func (s *Sleeper) told(visible string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resting && visible != s.seen && time.Since(s.looked) >= s.pause {
		s.wake()
	}
}

func (s *Sleeper) wake() {
	s.resting = false
	s.timer.Stop()
	select {
	case s.ring <- struct{}{}:
	default:
	}
}
