package search_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// BenchmarkSearch asks 2,000 files of some 300 words each, as their owner and as
// somebody who may read a tenth of them, and for a word of which a change has just
// been made.
func BenchmarkSearch(b *testing.B) {
	w := filestoretest.Embedded(b)
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.2, 4, 20_000)
	for i := range 2000 {
		var text strings.Builder
		for n := range 300 {
			fmt.Fprintf(&text, "w%dx", zipf.Uint64())
			text.WriteByte(" \n"[n%10/9])
		}
		w.MustPut(b, asker, fmt.Sprintf("/f%d/note-%d.txt", i%10, i), text.String())
	}
	w.Index(context.Background(), b)
	owner := filestore.Owner(asker)
	narrow := filestore.Access{
		Namespace: asker,
		Grants:    []filestore.Grant{{Abilities: filestore.Read | filestore.List, Area: vfspath.Area{Root: "/f3"}}},
	}
	for _, c := range []struct {
		name string
		who  filestore.Access
		q    string
		edit bool
	}{
		{"common", owner, "w1x", false},
		{"two", owner, "w12x w40x", false},
		{"rare", owner, "w9000x", false},
		{"scoped", narrow, "w12x w40x", false},
		{"after a change", owner, "w12x w40x", true},
	} {
		b.Run(c.name, func(b *testing.B) {
			for i := range b.N {
				if c.edit {
					b.StopTimer()
					w.MustPut(b, asker, "/edited.txt", fmt.Sprintf("w12x %d", i))
					b.StartTimer()
				}
				if _, err := w.Find.Search(b.Context(), c.who, c.q, "/", 20); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkIndex reads files into the index.
func BenchmarkIndex(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.2, 4, 20_000)
	w := filestoretest.Embedded(b)
	bytes := 0
	for i := range b.N {
		var text strings.Builder
		for n := range 2000 {
			fmt.Fprintf(&text, "w%dx", zipf.Uint64())
			text.WriteByte(" \n"[n%10/9])
		}
		bytes += text.Len()
		w.MustPut(b, asker, fmt.Sprintf("/%d.txt", i), text.String())
	}
	b.SetBytes(int64(bytes / b.N))
	b.ResetTimer()
	w.Index(context.Background(), b)
}
