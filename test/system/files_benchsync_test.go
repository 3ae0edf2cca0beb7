package system_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoreclient"
	"github.com/castalia-org/castalia/test/system"
)

// passed counts what passes on the way to a server.
type passed struct{ pages, others, content atomic.Int64 }

// counted returns an address that leads to a server and counts what is asked there.
func counted(b *testing.B, server string) (string, *passed) {
	b.Helper()
	to, err := url.Parse(server)
	if err != nil {
		b.Fatal(err)
	}
	var n passed
	on := httputil.NewSingleHostReverseProxy(to)
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/fs/files" {
			n.pages.Add(1)
		} else {
			n.others.Add(1)
		}
		n.content.Add(max(r.ContentLength, 0))
		on.ServeHTTP(w, r)
	}))
	b.Cleanup(between.Close)
	return between.URL, &n
}

// BenchmarkSyncOfEqualFiles synchronises 10,000 files that are the same on both sides by
// the real program, up and down in turns. What it asks for is counted: one listing, in
// pages of 200, who the server is, and the folders that were made. No content is sent.
func BenchmarkSyncOfEqualFiles(b *testing.B) {
	const files, clients = 10_000, 64
	b.Setenv("CASTALIA_BINARY", plainBinary(b))
	node := system.Start(b, system.Embedded, "LOG_LEVEL=warn", "PRINCIPAL_RATE_LIMIT_PER_MINUTE=0").Node(0)
	who, err := did.NewSigner()
	if err != nil {
		b.Fatal(err)
	}
	home := b.TempDir()
	key, local := filepath.Join(home, "key"), filepath.Join(home, "src")
	if err := os.WriteFile(key, []byte(who.PrivateText()), 0o600); err != nil {
		b.Fatal(err)
	}
	c, err := filestoreclient.New(filestoreclient.Config{Server: node.URL, Signer: who})
	if err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for i := int(next.Add(1)); i <= files; i = int(next.Add(1)) {
				name, data := fmt.Sprintf("%02d/%05d.bin", i%50, i), randomBytes(1<<10, byte(i))
				at := filepath.Join(local, filepath.FromSlash(name))
				err := os.MkdirAll(filepath.Dir(at), 0o700)
				if err == nil {
					err = os.WriteFile(at, data, 0o600)
				}
				if err == nil {
					_, err = c.Put(b.Context(), "/m/"+name, "application/octet-stream", bytes.NewReader(data), int64(len(data)), cid.CID{})
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	address, n := counted(b, node.URL)
	var took spent
	runs := 0
	for b.Loop() {
		for _, args := range [][]string{{local, "/m"}, {"--down", "/m", local}} {
			runs++
			took.on(b, node.PID(), func() {
				said, code := system.Run(b, []string{"CASTALIA_URL=" + address, "CASTALIA_KEY=" + key},
					append([]string{"fs", "sync"}, args...)...)
				if code != 0 || !strings.Contains(said, fmt.Sprintf(" %d equal", files)) {
					b.Fatalf("sync %v: %d %s", args, code, said)
				}
			})
		}
	}
	per := func(total float64) float64 { return total / float64(runs) }
	b.ReportMetric(per(float64(n.pages.Load())), "pages/sync")
	b.ReportMetric(per(float64(n.others.Load())), "others/sync")
	b.ReportMetric(per(float64(n.content.Load())), "content-B/sync")
	b.ReportMetric(per(took.wall.Seconds()), "s/sync")
	b.ReportMetric(per(float64(took.server.Milliseconds())), "server-cpu-ms/sync")
}
