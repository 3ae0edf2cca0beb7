package system_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoreclient"
	"github.com/castalia-org/castalia/test/system"
)

// files is a client of one node, as somebody with a key.
func files(t testing.TB, n *system.Node, who did.Signer) *filestoreclient.Client {
	t.Helper()
	c, err := filestoreclient.New(filestoreclient.Config{
		Server: n.URL, Signer: who, HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func randomBytes(n int, seed byte) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

func cidOf(t *testing.T, b []byte) cid.CID {
	t.Helper()
	c, _, err := cid.Sum(bytes.NewReader(b), cid.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What one node stores, every node reads; an upload begun on one goes on at another.
func TestFilesOnAnyNode(t *testing.T) {
	t.Parallel()
	system.Each(t, func(t *testing.T, w *system.World) {
		who, err := did.NewSigner()
		if err != nil {
			t.Fatal(err)
		}
		large := randomBytes(9<<20, 1)
		want := cidOf(t, large)
		if _, err := files(t, w.Node(0), who).Upload(t.Context(),
			filestoreclient.Upload{
				Path: "/big", Size: int64(len(large)), Source: bytes.NewReader(large), Want: want,
			}); err != nil {
			t.Fatal(err)
		}
		if _, err := files(t, w.Node(1), who).Put(t.Context(), "/small", "text/plain", strings.NewReader("small"), 5,
			cid.CID{}); err != nil {
			t.Fatal(err)
		}
		for i := range w.Nodes {
			c := files(t, w.Node(i), who)
			var got bytes.Buffer
			if _, err := c.Get(t.Context(), "/big", 0, &got); err != nil || !bytes.Equal(got.Bytes(), large) {
				t.Errorf("node %d: %v", i, err)
			}
			if nodes, err := c.Tree(t.Context(), "/"); err != nil || len(nodes) != 2 {
				t.Errorf("node %d lists %v, %v", i, nodes, err)
			}
		}
	})
}

// A process that is killed at any instant of an upload leaves the old version or
// the new one, whole; another node, or the same one started again, serves it.
func TestKilledWhileUploading(t *testing.T) {
	t.Parallel()
	points := 5
	if os.Getenv("CASTALIA_LONG") != "" {
		points = 50
	}
	system.Each(t, func(t *testing.T, w *system.World) {
		n := w.Node(0)
		who, err := did.NewSigner()
		if err != nil {
			t.Fatal(err)
		}
		first := randomBytes(1000, 99)
		versions := map[string][]byte{cidOf(t, first).String(): first}
		if _, err := files(t, n, who).Put(t.Context(), "/f", "application/octet-stream", bytes.NewReader(first),
			int64(len(first)), cid.CID{}); err != nil {
			t.Fatal(err)
		}
		for i := range points {
			data := randomBytes(4<<20+i, byte(i))
			versions[cidOf(t, data).String()] = data
			at := rand.Int64N(int64(len(data)) + 200_000) // beyond the end: while it commits
			body := &killing{r: bytes.NewReader(data), at: at, kill: n.Kill}
			_, putErr := files(t, n, who).Put(t.Context(), "/f", "application/octet-stream", body, int64(len(data)), cid.CID{})
			body.once(n.Kill)
			if w.Shape == system.Embedded {
				n.Start()
				n.WaitReady()
			}
			var got bytes.Buffer
			f, err := files(t, w.Node(1), who).Get(context.Background(), "/f", 0, &got)
			switch {
			case err != nil:
				t.Fatalf("point %d of %d: %v", at, len(data), err)
			case !bytes.Equal(got.Bytes(), versions[f.CID]):
				t.Fatalf("point %d: a version that nobody wrote", at)
			case putErr == nil && f.CID != cidOf(t, data).String():
				t.Fatalf("point %d: an acknowledged version is gone", at)
			}
			if w.Shape == system.Fleet {
				n.Start()
				n.WaitReady()
			}
		}
		wholeAfter(t, w)
	})
}

// killing kills when it has given so many bytes.
type killing struct {
	r    io.Reader
	at   int64
	kill func()
	done atomic.Bool
}

func (k *killing) once(kill func()) {
	if k.done.CompareAndSwap(false, true) {
		kill()
	}
}

func (k *killing) Read(p []byte) (int, error) {
	n, err := k.r.Read(p)
	if k.at -= int64(n); k.at <= 0 {
		k.once(k.kill)
	}
	return n, err
}
