package httpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Listen takes the port. Run calls it when nobody did before; call it first
// to learn the address.
func (s *Server) Listen(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		return nil
	}
	var lc net.ListenConfig
	lc.SetMultipathTCP(false) // its sockets take no filter, which the drain needs
	l, err := lc.Listen(ctx, "tcp", s.cfg.Addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", s.cfg.Addr, err)
	}
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return fmt.Errorf("listen on %s: not TCP", s.cfg.Addr)
	}
	s.listener = newBoundedListener(tcp, s.conns)
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
	listener := s.listener
	s.mu.Unlock()

	hs := &http.Server{
		Handler:                      s,
		ReadHeaderTimeout:            s.cfg.HeaderTimeout,
		IdleTimeout:                  s.cfg.IdleTimeout,
		MaxHeaderBytes:               s.cfg.MaxHeaderBytes,
		ConnContext:                  connContext,
		ConnState:                    connState,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug),
		BaseContext:                  func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	served := make(chan error, 1)
	go func() { served <- hs.Serve(listener) }()
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
	listener.lastCalls()
	select {
	case <-served:
	case <-stop.Done(): // every place was taken, and nobody left
		_ = listener.Close()
		<-served
	}
	// http.Server.Shutdown would drop requests whose headers arrive while it
	// runs, so the connections are drained here.
	err := s.conns.drain(stop)
	_ = hs.Close()
	s.conns.close()
	if err != nil {
		return fmt.Errorf("drain http server: requests were still running after %s: %w", s.cfg.DrainTimeout, err)
	}
	return nil
}

// connState notes when a connection begins to wait for its next request. That
// a request has begun is not enough to count as served: the handler does that.
func connState(c net.Conn, state http.ConnState) {
	if state == http.StateIdle {
		if t, ok := c.(*trackedConn); ok {
			t.idle(time.Now())
		}
	}
}
