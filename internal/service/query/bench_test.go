package query_test

import (
	"context"
	"testing"

	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/castalia-org/castalia/internal/service/query"
	"github.com/castalia-org/castalia/internal/service/query/httprule"
	"github.com/castalia-org/castalia/internal/service/query/querytest"
)

// stubChain answers from memory.
type stubChain struct {
	catalog *httprule.Catalog
	wire    []byte
	height  int64
}

func (s *stubChain) Name() string               { return "stub" }
func (s *stubChain) Catalog() *httprule.Catalog { return s.catalog }
func (s *stubChain) Head() query.Head           { return query.Head{} }
func (s *stubChain) Ready() error               { return nil }
func (s *stubChain) View() query.ChainView      { return query.ChainView{} }

func (s *stubChain) Invoke(context.Context, query.Call) (query.Reply, error) {
	return query.Reply{Wire: s.wire, Height: s.height}, nil
}

func (s *stubChain) Describe(context.Context, string) ([]*descriptorpb.FileDescriptorProto, error) {
	return nil, nil
}

// BenchmarkAnswer is the whole way of a small request without network: route,
// bind, ask, write.
func BenchmarkAnswer(b *testing.B) {
	files := querytest.ChainFiles(b)
	c, err := httprule.NewCatalog(files, httprule.CatalogOptions{Name: "stub"})
	if err != nil {
		b.Fatal(err)
	}
	stub := &stubChain{catalog: c, wire: []byte("\x0a\x02\x08\x19"), height: 7}
	for name, tt := range map[string]struct {
		cache  int64
		target query.Ask
		path   string
	}{
		"uncached": {-1, query.Ask{}, "/ixo/entity/did:ixo:entity:1"},
		"paged":    {-1, query.Ask{RawQuery: "pagination.limit=5&pagination.reverse=true"}, "/ixo/claims/claims"},
		"pinned":   {1 << 20, query.Ask{Height: "7"}, "/ixo/token/params"},
	} {
		b.Run(name, func(b *testing.B) {
			g := query.New([]query.Chain{stub}, query.Config{CacheBytes: tt.cache})
			b.ReportAllocs()
			for b.Loop() {
				found, err := g.Find("GET", tt.path)
				if err != nil {
					b.Fatal(err)
				}
				a, err := g.Answer(context.Background(), found, tt.target)
				if err != nil {
					b.Fatal(err)
				}
				a.Close()
			}
		})
	}
}
