package filestore_test

import (
	"io"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"

	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/test/testenv"
)

// TestMemoryOfAnUpload holds many uploads open at once, each after much more than
// it may keep, and looks at what all of them hold together. The bound is the
// promise: eight mebibytes an upload, for any size, also when no length was said.
func TestMemoryOfAnUpload(t *testing.T) { // not parallel: it measures the heap of the whole process
	const uploads, size, bound = 8, 16 << 20, 8 << 20
	for name, open := range map[string]func(testing.TB,
		...func(*filestore.Config)) *filestoretest.World{"embedded": filestoretest.Embedded, "fleet": filestoretest.Fleet} {
		t.Run(name, func(t *testing.T) {
			if name == "fleet" {
				testenv.Need(t, "postgres", "s3")
			}
			w := open(t)
			w.MustPut(t, ns, "/warm", "x")
			for _, said := range []int64{size, 0} {
				before := liveHeap()
				var all sync.WaitGroup
				gate := newGate(uploads)
				errs := make([]error, uploads)
				for i := range uploads {
					all.Go(func() {
						_, errs[i] = w.Put(t.Context(), owner, filestore.Put{
							Path: "/f" + string(rune('a'+i)), Mode: filestore.Upsert, Body: &gated{left: size, gate: gate}, Size: said,
						})
					})
				}
				gate.arrived.Wait() // every body is almost read, and none has ended
				held := liveHeap() - before
				close(gate.open)
				all.Wait()
				for i, err := range errs {
					if err != nil {
						t.Fatalf("upload %d: %v", i, err)
					}
				}
				t.Logf("%s, length said %d: %d KiB an upload", name, said, held/uploads>>10)
				if held > uploads*bound {
					t.Errorf("%d uploads of %d MiB (length said: %d) hold %d KiB each, want at most %d", uploads, size>>20, said, held/uploads>>10, bound>>10)
				}
			}
		})
	}
}

// liveHeap is what is in use after a collection. Pools give up what they hold
// only in the second one.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// gate lets bodies end together.
type gate struct {
	arrived sync.WaitGroup
	open    chan struct{}
}

func newGate(n int) *gate {
	g := &gate{open: make(chan struct{})}
	g.arrived.Add(n)
	return g
}

// gated is a body that waits at the gate before its last bytes.
type gated struct {
	left   int
	waited bool
	gate   *gate
}

func (g *gated) Read(p []byte) (int, error) {
	if g.left == 0 {
		return 0, io.EOF
	}
	if g.left <= 1000 && !g.waited {
		g.waited = true
		g.gate.arrived.Done()
		<-g.gate.open
	}
	n := min(len(p), g.left)
	if !g.waited {
		n = min(n, max(g.left-1000, 0))
	}
	g.left -= n
	return n, nil
}
