package callsound

import (
	"context"
	"sync"
	"time"
)

// aheadFrames is how much sound may wait to be said: what is said can be stopped
// at once, and a provider that is slow for a moment is not heard.
const aheadFrames = 100

// tailFrames is how much silence ends what is said: codecs hold the last moment
// back, and send it again with the next frame where the line loses some.
const tailFrames = 2

// Speaker says sound at the pace of time.
type Speaker struct {
	say func(pcm []int16, first bool)

	mu    sync.Mutex
	queue []int16
	said  int64 // samples
	held  bool
	more  chan struct{} // closed and replaced when there is sound
	space chan struct{} // closed and replaced when sound was said
}

// NewSpeaker returns a speaker; first says that there was silence before.
func NewSpeaker(say func([]int16, bool)) *Speaker {
	return &Speaker{say: say, more: make(chan struct{}), space: make(chan struct{})}
}

// Run says what is queued until ctx ends.
func (s *Speaker) Run(ctx context.Context) {
	frame := make([]int16, SpokenFrame)
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	first := true
	tail := 0
	next := time.Now()
	for {
		switch {
		case s.take(frame):
			tail = tailFrames
		case tail > 0:
			tail--
			clear(frame)
		default:
			first = true
			select {
			case <-ctx.Done():
				return
			case <-s.wake():
			}
			next = time.Now()
			continue
		}
		s.say(frame, first)
		first = false
		next = next.Add(FrameTime)
		timer.Reset(max(0, time.Until(next)))
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
	}
}

// wake is closed when there may be sound.
func (s *Speaker) wake() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) > 0 && !s.held {
		ready := make(chan struct{})
		close(ready)
		return ready
	}
	return s.more
}

// take fills the frame with the next sound, the last one with silence.
func (s *Speaker) take(frame []int16) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 || s.held {
		return false
	}
	n := copy(frame, s.queue)
	s.said += int64(n)
	clear(frame[n:])
	s.queue = append(s.queue[:0], s.queue[n:]...)
	close(s.space)
	s.space = make(chan struct{})
	return true
}

// Add queues sound, waiting while too much is queued already.
func (s *Speaker) Add(ctx context.Context, pcm []int16) error {
	for {
		s.mu.Lock()
		if len(s.queue) < aheadFrames*SpokenFrame {
			if err := ctx.Err(); err != nil { // nothing is queued after a flush
				s.mu.Unlock()
				return err
			}
			s.queue = append(s.queue, pcm...)
			close(s.more)
			s.more = make(chan struct{})
			s.mu.Unlock()
			return nil
		}
		space := s.space
		s.mu.Unlock()
		select {
		case <-space:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Said is how many samples were said so far, and Ahead how many will have been when
// what is queued now was said, too.
func (s *Speaker) Said() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said
}

// Ahead is where sound begins that is added now: see Said.
func (s *Speaker) Ahead() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said + int64(len(s.queue))
}

// Hold stops in the middle of what is said, and reports whether anything was.
func (s *Speaker) Hold() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = len(s.queue) > 0
	return s.held
}

// GoOn says the rest of what was held.
func (s *Speaker) GoOn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = false
	close(s.more)
	s.more = make(chan struct{})
}

// Flush forgets what was not said yet.
func (s *Speaker) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue, s.held = s.queue[:0], false
	close(s.space)
	s.space = make(chan struct{})
}

// Drained waits until everything was said.
func (s *Speaker) Drained(ctx context.Context) error {
	for {
		s.mu.Lock()
		empty, space := len(s.queue) == 0, s.space
		s.mu.Unlock()
		if empty {
			return nil
		}
		select {
		case <-space:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
