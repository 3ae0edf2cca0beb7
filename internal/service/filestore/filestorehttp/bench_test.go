package filestorehttp_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/blob/blobtest"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// BenchmarkTransfer sends 1 GiB through HTTP (CID, content hash, seal, disk) and
// fetches it, beside one core's SHA-256 of as many bytes in the same run.
func BenchmarkTransfer(b *testing.B) {
	const size = 1 << 30
	server, err := httpserver.New(httpserver.Config{})
	if err != nil {
		b.Fatal(err)
	}
	w := filestoretest.Embedded(b)
	err = server.Mount(filestorehttp.Surface(w.Service, filestorehttp.Deps{Authenticate: identityhttp.Wrap(identitytest.New(b), identity.Files)}))
	if err != nil {
		b.Fatal(err)
	}
	ts := httptest.NewServer(server)
	defer ts.Close()
	chunk := blobtest.Bytes(1 << 20)
	send := func(method string, body io.Reader) *http.Response {
		r, err := http.NewRequestWithContext(b.Context(), method, ts.URL+"/api/fs/content?path=/big", body)
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+owner(b))
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		if res.StatusCode >= 300 {
			b.Fatal(res.Status)
		}
		return res
	}
	var raw, up, down time.Duration
	var peak uint64
	b.SetBytes(size)
	for b.Loop() {
		start := time.Now()
		h := sha256.New()
		for range size / len(chunk) {
			h.Write(chunk)
		}
		raw += time.Since(start)
		start = time.Now()
		_ = send(http.MethodPut, &repeat{chunk: chunk, left: size}).Body.Close()
		up += time.Since(start)
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		peak = max(peak, m.Sys)
		start = time.Now()
		res := send(http.MethodGet, http.NoBody)
		n, err := io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if err != nil || n != size {
			b.Fatal(fmt.Errorf("%d bytes: %w", n, err))
		}
		down += time.Since(start)
	}
	b.ReportMetric(float64(raw)/float64(up), "upload-x-sha256")
	b.ReportMetric(float64(raw)/float64(down), "download-x-sha256")
	b.ReportMetric(float64(peak)/(1<<20), "sys-MiB")
}

// repeat is a body without a length.
type repeat struct {
	chunk []byte
	at    int
	left  int
}

func (r *repeat) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), r.left)], r.chunk[r.at:])
	r.at = (r.at + n) % len(r.chunk)
	r.left -= n
	return n, nil
}
