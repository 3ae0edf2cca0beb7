package query

import (
	"bytes"
	"crypto/rand"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
)

// TestGzipIsMadeOnceAndKept has many clients ask for the compressed form at a
// time: all get the same bytes, those that are kept with the entry.
func TestGzipIsMadeOnceAndKept(t *testing.T) {
	t.Parallel()
	body := []byte(strings.Repeat(`{"claim_id":"bafkrei","amount":"100"},`, 200))
	c := newCache(1 << 20)
	c.put([]byte("key"), newEntry(body, 7, time.Now()))
	const clients = 50
	var group sync.WaitGroup
	packed := make([][]byte, clients)
	for i := range clients {
		group.Go(func() { packed[i] = c.get([]byte("key")).Gzip() })
	}
	group.Wait()
	for _, p := range packed {
		if len(p) == 0 || &p[0] != &packed[0][0] {
			t.Fatal("two clients got two compressions")
		}
	}
	e := c.get([]byte("key"))
	if got := e.PackedHeaders; got.Tag[0] != `"`+e.ETag+PackedMark+`"` || got.Height[0] != "7" {
		t.Errorf("headers of the compressed form: %+v", got)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed[0]))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, body) {
		t.Errorf("unpacked: %v, %d bytes of %d", err, len(got), len(body))
	}
	// What the entry was counted as covers what is kept.
	if paid, held := c.Stats().Bytes, len(body)+len(packed[0]); paid < int64(held) {
		t.Errorf("the cache counts %d bytes and holds %d", paid, held)
	}
}

func TestGzipOnlyWhereItHelps(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 4*minGzip)
	_, _ = rand.Read(noise)
	for name, body := range map[string][]byte{"small": bytes.Repeat([]byte("a"), minGzip-1), "noise": noise} {
		if got := newEntry(body, 1, time.Now()).Gzip(); got != nil {
			t.Errorf("%s: %d bytes became %d", name, len(body), len(got))
		}
	}
}
