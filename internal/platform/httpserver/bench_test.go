//go:build unix

package httpserver_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
)

var reply = map[string]string{"sessionId": "0123456789", "title": "A session"}

func bare(w http.ResponseWriter, _ *http.Request) { _ = httpserver.WriteJSON(w, http.StatusOK, reply) }

// wholeChain is a server with everything switched on that a request pays for,
// and a hundred routes beside the one that is asked for.
func wholeChain(b *testing.B) *httpserver.Server {
	b.Helper()
	s, err := httpserver.New(httpserver.Config{
		Addr:    "127.0.0.1:0",
		Metrics: telemetry.NewMetrics(), Logger: telemetry.NewLogger(io.Discard, telemetry.Config{Level: "info", Format: "json"}),
	})
	if err != nil {
		b.Fatal(err)
	}
	sf := httpserver.Surface{
		Name: "a", CORS: httpserver.OpenCORS("*"), Limiter: ratelimit.NewLimiter(ratelimit.LimiterConfig{PerMinute: 1 << 30}),
		Routes: []httpserver.Route{get("/sessions/{id}/messages/{message}", func(w http.ResponseWriter, _ *http.Request) error {
			return httpserver.WriteJSON(w, http.StatusOK, reply)
		})},
	}
	for i := range 100 {
		sf.Routes = append(sf.Routes, get("/route"+strconv.Itoa(i)+"/{id}", echo()))
	}
	if err := s.Mount(sf); err != nil {
		b.Fatal(err)
	}
	return s
}

const benchPath = "/sessions/0123456789abcdef/messages/42"

// nowhere is a response writer that costs nothing.
type nowhere struct{ h http.Header }

func (n nowhere) Header() http.Header         { return n.h }
func (n nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n nowhere) WriteHeader(int)             {}

func run(b *testing.B, h http.Handler) float64 {
	r := httptest.NewRequestWithContext(b.Context(), "GET", benchPath, nil)
	w := nowhere{http.Header{}}
	b.ReportAllocs()
	before := cpuTime()
	for b.Loop() {
		clear(w.h)
		h.ServeHTTP(w, r)
	}
	return (cpuTime() - before) / float64(b.N)
}

// BenchmarkChain is the cost of routing, ids, cross-origin headers, limits,
// metrics and the access log, beside the bare handler.
func BenchmarkChain(b *testing.B) {
	var base float64
	b.Run("bare", func(b *testing.B) { base = run(b, http.HandlerFunc(bare)) })
	b.Run("whole", func(b *testing.B) {
		b.ReportMetric(run(b, wholeChain(b))-base, "added-cpu-ns/op")
	})
}

// BenchmarkOverTCP is the same over real connections, where a client sees it,
// with deadlines and the table of connections. Both figures have the client's
// work in them.
func BenchmarkOverTCP(b *testing.B) {
	var base float64
	ask := func(b *testing.B, addr string) float64 {
		c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
		defer c.CloseIdleConnections()
		b.ResetTimer()
		before := cpuTime()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if status, _, err := fetch(c, "GET", "http://"+addr+benchPath, nil); err != nil || status != http.StatusOK {
					b.Errorf("got %d %v", status, err)
				}
			}
		})
		each := (cpuTime() - before) / float64(b.N)
		b.ReportMetric(each, "cpu-ns/op")
		return each
	}
	b.Run("bare", func(b *testing.B) {
		srv := httptest.NewServer(http.HandlerFunc(bare))
		defer srv.Close()
		base = ask(b, srv.Listener.Addr().String())
	})
	b.Run("whole", func(b *testing.B) {
		s := wholeChain(b)
		if err := s.Listen(b.Context()); err != nil {
			b.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		b.ReportMetric(ask(b, s.Addr())/base, "times-bare-cpu")
		stop()
		<-done
	})
}

func BenchmarkLimiter(b *testing.B) {
	l := ratelimit.NewLimiter(ratelimit.LimiterConfig{PerMinute: 1 << 30})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		addr := netip.MustParseAddr("203.0.113.1")
		for pb.Next() {
			l.AllowAddr(addr)
			addr = addr.Next()
		}
	})
}

func BenchmarkAccessLog(b *testing.B) {
	log := telemetry.NewLogger(io.Discard, telemetry.Config{Format: "json"})
	b.ReportAllocs()
	for b.Loop() {
		log.LogAttrs(b.Context(), slog.LevelInfo, "request", slog.String("request_id", "01a1e009-869f-7352-88a7-53e81d5dd996"),
			slog.String("method", "GET"), slog.String("route", "/sessions/{id}"), slog.Int("status", 200), slog.Duration("took", 1))
	}
}
