package knowledge_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob/blobmem"
	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/platform/textindex/shelf"
	"github.com/castalia-org/castalia/internal/protocol/seal"
)

// What a join makes large is sealed in fine segments, and whatever was sealed in
// coarse ones before is read all the same.
func TestLargeJoinsAreSealedFine(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(4, 4))
	vault := seal.Vault{Key: seal.NewKey(), Space: "test"}
	s := shelf.Shelf{Blobs: blobmem.New(), Prefix: "test/"}
	put := func(name string, passages int) shelf.Held {
		b := textindex.NewBuilder("c")
		for i := range passages {
			var text strings.Builder
			for range 150 {
				fmt.Fprintf(&text, "%x ", random.Uint64())
			}
			if err := b.Add(textindex.Passage{Document: name, Number: uint32(i), Text: text.String()}); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		if _, err := b.WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		r, err := s.Put(t.Context(), vault, "c", &out, passages, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if r.Sealed != seal.SealedSize(r.Size) {
			t.Errorf("%s is sealed fine", name)
		}
		return shelf.Held{Record: *r}
	}
	join := func(old ...shelf.Held) *shelf.Record {
		by, err := s.Join(t.Context(), vault, "c", old, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		g, err := s.Open(vault, *by, textindex.NewCache(1<<20))
		if err != nil {
			t.Fatal(err)
		}
		if names, err := g.Documents(); err != nil || len(names) != len(old) {
			t.Errorf("%d documents in %d bytes are %q: %v", len(old), by.Size, names, err)
		}
		if p, err := g.Passage(uint32(by.Passages - 1)); err != nil || !strings.HasPrefix(p.Document, "d") {
			t.Errorf("the last passage is of %q: %v", p.Document, err)
		}
		return by
	}
	if r := join(put("d1", 10), put("d2", 10)); r.Sealed != seal.SealedSize(r.Size) {
		t.Errorf("%d bytes are sealed fine", r.Size)
	}
	large := join(put("d3", 700), put("d4", 700))
	if large.Size < shelf.FineFrom || large.Sealed <= seal.SealedSize(large.Size) {
		t.Errorf("%d bytes are %d sealed, coarse would be %d", large.Size, large.Sealed, seal.SealedSize(large.Size))
	}
}
