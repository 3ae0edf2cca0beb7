package call

import (
	"context"
	"sync"
	"time"
)

// aheadFrames is how much sound may wait to be said: what is said can be stopped
// at once, and a provider that is slow for a moment is not heard.
const aheadFrames = 100

// speaker says sound at the pace of time.
type speaker struct {
	say func(pcm []int16, first bool)

	mu     sync.Mutex
	queue  []int16
	more   chan struct{} // closed and replaced when there is sound
	space  chan struct{} // closed and replaced when sound was said
	spoken time.Duration
}

func newSpeaker(say func([]int16, bool)) *speaker {
	return &speaker{say: say, more: make(chan struct{}), space: make(chan struct{})}
}

// run says what is queued until ctx ends.
func (s *speaker) run(ctx context.Context) {
	frame := make([]int16, SpokenFrame)
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	first := true
	next := time.Now()
	for {
		if !s.take(frame) {
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
func (s *speaker) wake() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) > 0 {
		ready := make(chan struct{})
		close(ready)
		return ready
	}
	return s.more
}

// take fills the frame with the next sound, the last one with silence.
func (s *speaker) take(frame []int16) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return false
	}
	n := copy(frame, s.queue)
	clear(frame[n:])
	s.queue = append(s.queue[:0], s.queue[n:]...)
	s.spoken += FrameTime
	close(s.space)
	s.space = make(chan struct{})
	return true
}

// add queues sound, waiting while too much is queued already.
func (s *speaker) add(ctx context.Context, pcm []int16) error {
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

// flush forgets what was not said yet.
func (s *speaker) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = s.queue[:0]
	close(s.space)
	s.space = make(chan struct{})
}

// drained waits until everything was said.
func (s *speaker) drained(ctx context.Context) error {
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
