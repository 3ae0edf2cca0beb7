package httpserver_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
)

// lines is a log that tests may read while it is written.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
	got chan string // receives every line
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.got != nil {
		l.got <- string(p)
	}
	return l.buf.Write(p)
}

// A client that leaves is not our failure: nothing is logged as an error, and
// it is counted as gone.
func TestClientsThatLeave(t *testing.T) {
	t.Parallel()
	log := &lines{got: make(chan string, 16)}
	entered := make(chan struct{})
	s := start(t, httpserver.Config{Logger: slog.New(slog.NewTextHandler(log, nil))},
		httpserver.Surface{Name: "a", Routes: []httpserver.Route{
			route("POST", "/upload", readAll),
			get("/wait", func(_ http.ResponseWriter, r *http.Request) error {
				close(entered)
				<-r.Context().Done()
				return r.Context().Err()
			}),
			get("/endless", func(w http.ResponseWriter, _ *http.Request) error {
				for {
					if _, err := w.Write(make([]byte, 1<<16)); err != nil {
						return err
					}
				}
			}),
		}})

	c := s.dial(t)
	_, _ = io.WriteString(c, "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc")
	_ = c.Close()
	if line := <-log.got; !strings.Contains(line, "level=INFO") || !strings.Contains(line, "status=499") {
		t.Errorf("broken upload: %s", line)
	}

	ctx, cancel := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, s.url("/wait"), nil)
	go func() { <-entered; cancel() }()
	if resp, err := client(t).Do(req); err == nil {
		_ = resp.Body.Close()
	}
	if line := <-log.got; !strings.Contains(line, "level=INFO") || !strings.Contains(line, "status=499") {
		t.Errorf("broken wait: %s", line)
	}

	c = s.dial(t)
	_, _ = io.WriteString(c, "GET /endless HTTP/1.1\r\nHost: x\r\n\r\n")
	_, _ = io.ReadFull(c, make([]byte, 1000))
	_ = c.Close()
	if line := <-log.got; !strings.Contains(line, "level=INFO") || !strings.Contains(line, "status=200") {
		t.Errorf("broken download: %s", line)
	}
}

// A client that does not read does not hold a handler.
func TestClientsThatDoNotRead(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	s := start(t, httpserver.Config{StallTimeout: 100_000_000}, httpserver.Surface{Name: "a", Routes: []httpserver.Route{
		get("/endless", func(w http.ResponseWriter, _ *http.Request) error {
			for {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					ended <- err
					return err
				}
			}
		}),
		get("/stream", func(w http.ResponseWriter, r *http.Request) error {
			st := httpserver.Stream(w, r)
			for {
				if err := st.Send(make([]byte, 1<<16)); err != nil {
					ended <- err
					return err
				}
			}
		}),
	}})
	for _, path := range []string{"/endless", "/stream"} {
		c := s.dial(t)
		_, _ = io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
		if err := <-ended; err == nil {
			t.Errorf("%s ended without an error", path)
		}
	}
}

func TestRequestsAreTraced(t *testing.T) {
	t.Parallel()
	got := make(chan string, 8)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- string(body)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	defer collector.Close()
	traces, err := telemetry.StartTraces(t.Context(), telemetry.TraceConfig{Endpoint: collector.URL, Service: "castalia"})
	if err != nil {
		t.Fatal(err)
	}
	log := &lines{}
	s := newServer(t, httpserver.Config{Traces: traces, Logger: slog.New(slog.NewTextHandler(log, nil))},
		httpserver.Surface{Name: "a", Routes: []httpserver.Route{
			get("/sessions/{id}", func(w http.ResponseWriter, r *http.Request) error {
				_, span := telemetry.StartSpan(r.Context(), "inner work")
				span.End(nil)
				return nil
			}),
		}})
	do(t, s, "GET", "/sessions/hunter2", "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "X-Request-Id: the-id")
	if err := traces.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	sent := <-got
	for _, part := range []string{"GET /sessions/{id}", "inner work", "the-id"} {
		if !strings.Contains(sent, part) {
			t.Errorf("%q was not exported", part)
		}
	}
	if strings.Contains(sent, "hunter2") {
		t.Error("a path value was exported")
	}
	if !strings.Contains(log.buf.String(), "trace_id=0af7651916cd43dd8448eb211c80319c") {
		t.Errorf("the log does not name the trace: %s", log.buf.String())
	}
}

// Whatever is asked, the answer is one of ours and carries an id.
func FuzzRequest(f *testing.F) {
	s, err := httpserver.New(httpserver.Config{Proxies: inside})
	if err != nil {
		f.Fatal(err)
	}
	if err := s.Mount(httpserver.Surface{Name: "a", CORS: httpserver.OpenCORS("https://a.example,https://b.example"), Routes: []httpserver.Route{
		get("/a/{b}", echo("b")), route("POST", "/a/b", echo()), get("/f/{rest...}", echo("rest")),
		{Method: "GET", Pattern: "/op", Auth: httpserver.Operator, Handler: echo()},
	}}); err != nil {
		f.Fatal(err)
	}
	for _, path := range []string{"/", "/a/b", "/a/%2F", "/a/%zz", "/f/../..", "//", "/a//", "*", "/op", "/docs/%2e%2e%2f"} {
		f.Add("GET", path, "10.0.0.1, 8.8.8.8", "localhost")
	}
	f.Fuzz(func(t *testing.T, method, path, forwarded, host string) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://x", nil)
		if err != nil {
			return
		}
		if r.URL, err = r.URL.Parse(path); err != nil {
			return
		}
		r.RemoteAddr, r.Host = "127.0.0.1:1", host
		r.Header.Set("X-Forwarded-For", forwarded)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		switch w.Code {
		case 200, 204, 403, 404, 405:
		default:
			t.Fatalf("%s %q: got %d %s", method, path, w.Code, w.Body)
		}
		if w.Header().Get("X-Request-Id") == "" {
			t.Fatal("no request id")
		}
	})
}
