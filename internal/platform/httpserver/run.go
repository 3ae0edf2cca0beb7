package httpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/castalia-org/castalia/internal/platform/httpserver/clientaddr"
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
	if s.cfg.TLS != nil {
		if s.secure, err = listener.Listen(ctx, s.cfg.TLSAddr, s.conns); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	s.listener = l
	return nil
}

// Secure serves HTTPS too, as Config.TLS would, for callers that learn only after
// Listen that it is wanted. It is called before Run.
func (s *Server) Secure(ctx context.Context, addr string, how *tls.Config,
	plain func(w http.ResponseWriter, r *http.Request) bool,
) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started || s.secure != nil {
		return errors.New("serve https: the server is running, or serves it already")
	}
	if s.secure, err = listener.Listen(ctx, addr, s.conns); err != nil {
		return err
	}
	s.cfg.TLS, s.cfg.TLSAddr, s.cfg.Plain = how, addr, plain
	return nil
}

// refusePlain lets Plain answer what came without TLS.
func (s *Server) refusePlain(w http.ResponseWriter, r *http.Request) {
	x := exchange{}
	w.Header().Set(HeaderRequestID, requestID(r.Header, time.Now())) // ServeHTTP would set its own
	x.client, x.proxied = clientaddr.Of(r, listener.FromContext(r.Context()), s.cfg.Proxies)
	if x.scheme(r) == "https" || !s.cfg.Plain(w, r) {
		s.ServeHTTP(w, r)
	}
}

// serveOn serves on every port; each that ends is told.
func (s *Server) serveOn(hs *http.Server, plain,
	secure *listener.Listener,
) (served chan error, ports []*listener.Listener) {
	served, ports = make(chan error, 2), []*listener.Listener{plain}
	go func() { served <- hs.Serve(plain) }()
	if secure != nil {
		ports = append(ports, secure)
		go func() { served <- hs.ServeTLS(secure, "", "") }()
	}
	return served, ports
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
	if s.secure != nil {
		err = errors.Join(err, s.secure.Close())
	}
	s.listener, s.secure = nil, nil
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
	port, secure := s.listener, s.secure
	s.mu.Unlock()

	var handler http.Handler = s
	if s.cfg.Plain != nil {
		handler = http.HandlerFunc(s.refusePlain)
	}
	hs := &http.Server{
		Handler:                      handler,
		TLSConfig:                    s.cfg.TLS,
		HTTP2:                        &http.HTTP2Config{WriteByteTimeout: s.cfg.StallTimeout},
		ReadHeaderTimeout:            s.cfg.HeaderTimeout,
		IdleTimeout:                  s.cfg.IdleTimeout,
		MaxHeaderBytes:               s.cfg.MaxHeaderBytes,
		ConnContext:                  listener.ConnContext,
		ConnState:                    listener.ConnState,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug),
		BaseContext:                  func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	served, ports := s.serveOn(hs, port, secure)
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
	for _, p := range ports {
		p.LastCalls()
	}
	for range ports {
		select {
		case <-served:
		case <-stop.Done(): // every place was taken, and nobody left
			for _, p := range ports {
				_ = p.Close()
			}
			<-served
		}
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
