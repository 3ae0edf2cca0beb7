package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/castalia-org/castalia/test/load/hdr"
)

// recorder keeps what became of every step of every journey.
type recorder struct {
	mu      sync.Mutex
	from    time.Time // steps that were meant to start before it are warm-up
	steps   map[string]*step
	lag     hdr.Histogram // how late the generator itself was
	skipped int64         // journeys not begun, since too many were under way
}

// step is one kind of request.
type step struct {
	latency hdr.Histogram // of those that went well
	errors  map[string]int64
}

func newRecorder(from time.Time) *recorder {
	return &recorder{from: from, steps: make(map[string]*step)}
}

// done records a step that was meant to start at intended and has just ended.
func (r *recorder) done(name string, intended time.Time, err error) {
	took := time.Since(intended)
	r.mu.Lock()
	defer r.mu.Unlock()
	if intended.Before(r.from) && err == nil {
		return // an error of the warm-up is an error all the same
	}
	s := r.steps[name]
	if s == nil {
		s = &step{errors: make(map[string]int64)}
		r.steps[name] = s
	}
	if err != nil {
		s.errors[kindOf(err)]++
		return
	}
	s.latency.Record(took)
}

// late records by how much the generator missed the start of a journey.
func (r *recorder) late(by time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lag.Record(by)
}

func (r *recorder) skip() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.skipped++
}

// wrongError is an answer that came and is not what it should be.
type wrongError struct{ kind, detail string }

func (e *wrongError) Error() string { return e.kind + ": " + e.detail }

func wrong(kind, format string, args ...any) error {
	return &wrongError{kind, fmt.Sprintf(format, args...)}
}

// kindOf puts an error into one of a few kinds.
func kindOf(err error) string {
	if w, ok := errors.AsType[*wrongError](err); ok {
		return w.kind
	}
	var network net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &network) && network.Timeout():
		return "time-out"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	default:
		return "connection"
	}
}
