package httpserver

import (
	"fmt"
	"net/http"
	"time"
)

// StreamWriter sends a long answer piece by piece. Every piece has its own
// deadline, nothing is compressed, and a client that stops reading ends the
// stream instead of holding it.
type StreamWriter struct {
	w     http.ResponseWriter
	r     *http.Request
	ctl   *http.ResponseController
	stall time.Duration
}

// Stream begins a stream on w. Headers may be set until the first Send.
func Stream(w http.ResponseWriter, r *http.Request) *StreamWriter {
	s := &StreamWriter{w: w, r: r, ctl: http.NewResponseController(w), stall: 30 * time.Second}
	if x := exchangeOf(r.Context()); x != nil {
		x.stream = true
		s.stall = x.server.cfg.StallTimeout
	}
	h := w.Header()
	h.Set("X-Accel-Buffering", "no")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-cache, no-transform")
	}
	return s
}

// Start sends the status and headers now.
func (s *StreamWriter) Start(status int) error {
	s.w.WriteHeader(status)
	return s.flush()
}

// Send writes p and flushes it to the client.
func (s *StreamWriter) Send(p []byte) error {
	if _, err := s.Write(p); err != nil {
		return err
	}
	return s.flush()
}

// Write writes p within its own deadline, without flushing.
func (s *StreamWriter) Write(p []byte) (int, error) {
	_ = s.ctl.SetWriteDeadline(time.Now().Add(s.stall)) // tests' recorders have none
	n, err := s.w.Write(p)
	if err != nil {
		return n, fmt.Errorf("write stream: %w", err)
	}
	return n, nil
}

func (s *StreamWriter) flush() error {
	_ = s.ctl.SetWriteDeadline(time.Now().Add(s.stall))
	if err := s.ctl.Flush(); err != nil {
		return fmt.Errorf("flush stream: %w", err)
	}
	return nil
}

// Draining is closed when the server starts to stop.
func (s *StreamWriter) Draining() <-chan struct{} { return Draining(s.r.Context()) }
