package engineio

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"time"
)

// servePoll answers a GET with what is queued, or holds it until there is
// something.
func (e *Server) servePoll(w http.ResponseWriter, r *http.Request, s *Session) {
	s.mu.Lock()
	switch {
	case s.state == closing && s.conn == nil:
		// The last packets and the close come in two answers: clients hand packets
		// up a moment later, and would see the close before them.
		over := len(s.queue) == 0
		if over {
			s.queue = append(s.queue, s.farewell)
		}
		body := s.takePayload()
		s.mu.Unlock()
		if over {
			s.cut()
		}
		writeText(w, e.cfg.IOTimeout, body)
		return
	case s.state != open:
		s.mu.Unlock()
		e.refuse(w, false, unknownSession, "")
		return
	case s.conn != nil:
		s.mu.Unlock()
		e.refuse(w, false, badRequest, "")
		return
	case s.expired():
		s.mu.Unlock()
		s.end(PingTimeout, hard)
		e.refuse(w, false, unknownSession, "")
		return
	case s.poll != nil: // two polls at once: which of them would get the packets?
		s.mu.Unlock()
		s.end(TransportError, broken)
		e.refuse(w, false, badRequest, "")
		return
	case len(s.queue) > 0:
		body := s.takePayload()
		s.mu.Unlock()
		writeText(w, e.cfg.IOTimeout, body)
		return
	}
	held := make(chan []byte, 1)
	s.poll = held
	upgrading := s.upgrading
	s.mu.Unlock()
	if upgrading {
		defer time.AfterFunc(e.cfg.UpgradePoll, func() { s.release(held) }).Stop()
	}
	select {
	case body := <-held:
		if body == nil {
			e.refuse(w, false, badRequest, "")
			return
		}
		writeText(w, e.cfg.IOTimeout, body)
	case <-r.Context().Done():
		s.abandon(held)
	}
}

// release ends a poll that has nothing to say, if it is still held.
func (s *Session) release(held chan []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held != nil && s.poll == held {
		s.answerPoll([]byte{byte(Noop)})
	}
}

// abandon ends the session whose held poll went away.
func (s *Session) abandon(held chan []byte) {
	s.mu.Lock()
	mine := s.poll == held
	if mine {
		s.poll = nil
	}
	s.mu.Unlock()
	if mine {
		s.end(TransportClose, hard)
	}
}

// servePush takes the packets of a POST. A session that waits to say its last
// words takes them to nowhere: an error would be the last that the peer hears.
func (e *Server) servePush(w http.ResponseWriter, r *http.Request, s *Session) {
	s.mu.Lock()
	switch {
	case s.state == closed || s.state == closing && s.conn != nil:
		s.mu.Unlock()
		e.refuse(w, false, unknownSession, "")
		return
	case s.conn != nil:
		s.mu.Unlock()
		e.refuse(w, false, badRequest, "")
		return
	case s.posting: // two pushes at once have no order
		s.mu.Unlock()
		s.end(TransportError, broken)
		e.refuse(w, false, badRequest, "")
		return
	}
	s.posting = true
	s.mu.Unlock()
	answer := e.takePush(w, r, s)
	// Before the answer: who has read it may push again at once.
	s.mu.Lock()
	s.posting = false
	s.mu.Unlock()
	answer()
}

// takePush reads a body and hands it up. It returns what answers the request.
func (e *Server) takePush(w http.ResponseWriter, r *http.Request, s *Session) (answer func()) {
	refused := func() { e.refuse(w, false, badRequest, "") }
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media == "application/octet-stream" {
		s.end(TransportError, broken)
		return refused
	}
	body, status := e.readBody(w, r, s.maxPayload())
	if status != 0 {
		e.stats.refused.Add(1)
		return func() { write(w, e.cfg.IOTimeout, status, "text/html", nil) }
	}
	packets, err := DecodePayload(body)
	if err != nil {
		s.end(ParseError, broken)
		return refused
	}
	if !s.receivePush(packets) {
		return refused
	}
	return func() { write(w, e.cfg.IOTimeout, http.StatusOK, "text/html", []byte("ok")) }
}

// receivePush hands a body up as a whole, unless the session has meanwhile
// moved to WebSocket: then its packets would come out of order.
func (s *Session) receivePush(packets []Packet) bool {
	s.receiving.Lock()
	defer s.receiving.Unlock()
	s.mu.Lock()
	moved := s.conn != nil
	s.mu.Unlock()
	if moved {
		return false
	}
	for _, p := range packets {
		if !s.receive(p) {
			break
		}
	}
	return true
}

func (e *Server) readBody(w http.ResponseWriter, r *http.Request, most int64) (body []byte, status int) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(e.cfg.IOTimeout)) // against a slow trickle
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, http.StatusRequestEntityTooLarge
	}
	if err != nil {
		return nil, http.StatusBadRequest
	}
	return body, 0
}
