package httpserver

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/listener"
)

// heldGoodbye is how long answers under way may take when the port is handed on.
const heldGoodbye = time.Second

// Hold answers with h on the server's port until release is called: for a
// program that has its port and cannot serve yet. Each answer ends its
// connection, and connections that h did not take are there for Run.
func (s *Server) Hold(ctx context.Context, h http.Handler) (release func(), err error) {
	if err := s.Listen(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	port := s.listener
	s.mu.Unlock()
	hs := &http.Server{
		Handler:                      h,
		ReadHeaderTimeout:            s.cfg.HeaderTimeout,
		MaxHeaderBytes:               s.cfg.MaxHeaderBytes,
		ConnContext:                  listener.ConnContext,
		ConnState:                    listener.ConnState,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug),
	}
	hs.SetKeepAlivesEnabled(false)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = hs.Serve(heldListener{port}) // it ends when release says so
	}()
	return sync.OnceFunc(func() {
		_ = port.SetDeadline(time.Now())
		<-served
		_ = port.SetDeadline(time.Time{})
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), heldGoodbye)
		defer cancel()
		if hs.Shutdown(stop) != nil {
			_ = hs.Close()
		}
	}), nil
}

// heldListener is a listener that stays open for the next owner: a deadline
// ends its use, and closing it does nothing.
type heldListener struct{ *listener.Listener }

// Accept returns the next connection, or that there are none for this owner.
func (l heldListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, net.ErrClosed // a time-out would be tried again
	}
	return conn, err
}

// Close leaves the port to its next owner.
func (heldListener) Close() error { return nil }
