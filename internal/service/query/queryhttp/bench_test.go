package queryhttp_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/query"
	"github.com/castalia-org/castalia/internal/service/query/queryhttp"
	"github.com/castalia-org/castalia/internal/service/query/querytest"
	"github.com/castalia-org/castalia/internal/service/query/upstream"
)

// nowhere is a response writer that costs nothing.
type nowhere struct{ h http.Header }

func (n nowhere) Header() http.Header         { return n.h }
func (n nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n nowhere) WriteHeader(int)             {}

// BenchmarkServe is what a request costs between net/http and gRPC, with the
// chain around the handler: an answer from the cache, and one from the node.
func BenchmarkServe(b *testing.B) {
	for name, bytes := range map[string]int64{"cached": 1 << 20, "uncached": -1} {
		b.Run(name, func(b *testing.B) {
			pool := querytest.StartPool(b, upstream.Config{},
				querytest.StartNode(b, querytest.NodeConfig{Files: querytest.ChainFiles(b), Height: 100}))
			surface, err := queryhttp.Surface(query.New([]query.Chain{pool}, query.Config{CacheBytes: bytes}),
				queryhttp.Options{})
			if err != nil {
				b.Fatal(err)
			}
			server, err := httpserver.New(httpserver.Config{})
			if err != nil {
				b.Fatal(err)
			}
			if err := server.Mount(surface); err != nil {
				b.Fatal(err)
			}
			r := httptest.NewRequestWithContext(b.Context(), "GET", "/ixo/entity/did:ixo:entity:1", nil)
			r.Header.Set("X-Cosmos-Block-Height", "1")
			w := nowhere{make(http.Header, 32)}
			b.ReportAllocs()
			for b.Loop() {
				clear(w.h)
				server.ServeHTTP(w, r)
			}
			if got := w.h.Get("X-Cosmos-Block-Height"); got == "" {
				b.Errorf("no height: %v", w.h)
			}
		})
	}
}
