package httpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/castalia-org/castalia/internal/platform/listener"
)

// Listen takes the port. Run calls it when nobody did before; call it first
// to learn the address.
func (s *Server) Listen(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		return nil
	}
	l, err := listener.Listen(ctx, s.cfg.Addr, s.conns)
	if err != nil {
		return err
	}
	s.listener = l
	return nil
}

// Addr is where the server listens, or "" before Listen.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return ""
	}
	return s.listener.Addr().String()
}

// Close gives the port back when the server never ran; Run does so by itself.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil || s.started {
		return nil
	}
	err := s.listener.Close()
	s.listener = nil
	if err != nil {
		return fmt.Errorf("give the port back: %w", err)
	}
	return nil
}

// Ready reports whether the server takes requests: not before Run, and not
// after it was told to stop.
func (s *Server) Ready() bool { return s.ready.Load() }

// Run serves until ctx ends, then drains: it is not ready from that moment and
// tells streams (Draining); it goes on accepting for DrainDelay, so that
// proxies notice, and asks clients to close their connections, so that none
// sends a request into one that is about to close; then it closes the
// listener, waits up to DrainTimeout for requests in flight and breaks what is
// left.
func (s *Server) Run(ctx context.Context) error {
	if err := s.Listen(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	if s.started {
		s.mu.Unlock()
		return errors.New("run http server: it ran before")
	}
	s.started = true
	port := s.listener
	s.mu.Unlock()

	hs := &http.Server{
		Handler:                      s,
		ReadHeaderTimeout:            s.cfg.HeaderTimeout,
		IdleTimeout:                  s.cfg.IdleTimeout,
		MaxHeaderBytes:               s.cfg.MaxHeaderBytes,
		ConnContext:                  listener.ConnContext,
		ConnState:                    listener.ConnState,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug),
		BaseContext:                  func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	served := make(chan error, 1)
	go func() { served <- hs.Serve(port) }()
	s.ready.Store(true)

	select {
	case err := <-served:
		s.ready.Store(false)
		close(s.draining)
		return fmt.Errorf("serve http: %w", err)
	case <-ctx.Done():
	}
	s.leaving.Store(true)
	s.ready.Store(false)
	close(s.draining)
	if s.cfg.DrainDelay > 0 {
		timer := time.NewTimer(s.cfg.DrainDelay)
		defer timer.Stop()
		select {
		case err := <-served:
			return fmt.Errorf("serve http: %w", err)
		case <-timer.C:
		}
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.DrainTimeout)
	defer cancel()
	port.LastCalls()
	select {
	case <-served:
	case <-stop.Done(): // every place was taken, and nobody left
		_ = port.Close()
		<-served
	}
	// http.Server.Shutdown would drop requests whose headers arrive while it
	// runs, so the connections are drained here.
	err := s.conns.Drain(stop)
	_ = hs.Close()
	s.conns.Close()
	if err != nil {
		return fmt.Errorf("drain http server: requests were still running after %s: %w", s.cfg.DrainTimeout, err)
	}
	return nil
}
