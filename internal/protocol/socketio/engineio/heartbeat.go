package engineio

import "time"

// beat runs when the timer fires: it pings, or ends a session whose peer did
// not answer the last ping.
func (s *Session) beat() {
	s.mu.Lock()
	if s.state != open {
		s.mu.Unlock()
		return
	}
	if s.awaiting {
		s.mu.Unlock()
		s.end(PingTimeout, hard)
		return
	}
	s.awaiting, s.extended = true, false
	s.schedule(s.due.Add(s.server.cfg.PingTimeout)) // counted from when the ping was due, not from now
	ping := newFrame(finalText, "2")
	s.queue = append(s.queue, ping)
	s.queued += len(ping)
	s.flush(false)
}

// schedule sets the timer. Call it with s.mu held.
func (s *Session) schedule(due time.Time) {
	s.due = due
	s.timer.Reset(time.Until(due))
}

// expired reports that the peer is past its deadline, also when a busy machine
// has not run the timer yet. Call it with s.mu held.
func (s *Session) expired() bool {
	deadline := s.due
	if !s.awaiting {
		deadline = deadline.Add(s.server.cfg.PingTimeout)
	}
	return !time.Now().Before(deadline)
}

func (s *Session) pong() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == open && s.awaiting {
		s.awaiting = false
		s.schedule(time.Now().Add(s.server.cfg.PingInterval))
	}
}

// heard moves the deadline of an unanswered ping, once: a slow uplink may be
// busy with a large message while the pong waits behind it.
func (s *Session) heard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == open && s.awaiting && !s.extended {
		s.extended = true
		s.schedule(time.Now().Add(s.server.cfg.PingTimeout))
	}
}
