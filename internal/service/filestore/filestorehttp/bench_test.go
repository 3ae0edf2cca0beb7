package filestorehttp_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
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

// spent is how long something took, by the clock and in processor time of this
// program: client, kernel and server.
type spent struct{ wall, cpu time.Duration }

func processor(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (s *spent) on(b *testing.B, do func()) {
	b.Helper()
	start, cpu := time.Now(), processor(b)
	do()
	s.wall += time.Since(start)
	s.cpu += processor(b) - cpu
}

// BenchmarkTransfer sends a file of 1 GiB through HTTP (CID, content hash, seal,
// disk) and fetches it, in turns with one core's SHA-256 and AES-256-GCM of as
// many bytes. Client and server are this one process. On a busy machine look
// at the processor seconds: a ratio of 0.5 needs at most four times as many as
// the hash takes, on two cores.
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
	file := bigFile(b, chunk, size)
	send := func(method string, body io.Reader, length int64) *http.Response {
		r, err := http.NewRequestWithContext(b.Context(), method, ts.URL+"/api/fs/content?path=/big", body)
		if err != nil {
			b.Fatal(err)
		}
		r.ContentLength = length
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
	var raw, gcm, up, down spent
	var peak uint64
	b.SetBytes(size)
	for b.Loop() {
		raw.on(b, func() { hashRaw(chunk, size) })
		gcm.on(b, func() { sealRaw(b, chunk, size) })
		up.on(b, func() {
			f, err := os.Open(file)
			if err != nil {
				b.Fatal(err)
			}
			_ = send(http.MethodPut, f, size).Body.Close()
		})
		peak = max(peak, resident(b))
		down.on(b, func() {
			res := send(http.MethodGet, http.NoBody, 0)
			n, err := io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			if err != nil || n != size {
				b.Fatal(fmt.Errorf("%d bytes: %w", n, err))
			}
		})
	}
	b.ReportMetric(float64(raw.wall)/float64(up.wall), "upload-x-sha256")
	b.ReportMetric(float64(raw.wall)/float64(down.wall), "download-x-sha256")
	for name, s := range map[string]spent{"sha256": raw, "aes-gcm": gcm, "upload": up, "download": down} {
		b.ReportMetric(s.cpu.Seconds()/float64(b.N), name+"-cpu-s/GiB")
	}
	b.ReportMetric(float64(peak)/(1<<20), "rss-MiB")
}

func hashRaw(chunk []byte, size int) {
	h := sha256.New()
	for range size / len(chunk) {
		h.Write(chunk)
	}
}

func sealRaw(b *testing.B, chunk []byte, size int) {
	b.Helper()
	block, err := aes.NewCipher(make([]byte, 32))
	if err != nil {
		b.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		b.Fatal(err)
	}
	const segment = 64 << 10
	out := make([]byte, 0, segment+16)
	for range size / segment {
		aead.Seal(out, make([]byte, 12), chunk[:segment], nil)
	}
}

// bigFile makes a file of the chunk repeated.
func bigFile(b *testing.B, chunk []byte, size int) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "big")
	f, err := os.Create(path)
	for range size / len(chunk) {
		if err == nil {
			_, err = f.Write(chunk)
		}
	}
	if err == nil {
		err = f.Sync() // or the disk would be busy with it while others are timed
	}
	if err := errors.Join(err, f.Close()); err != nil {
		b.Fatal(err)
	}
	return path
}

// resident is the largest resident memory of this process so far.
func resident(b *testing.B) uint64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	if runtime.GOOS == "darwin" {
		return uint64(u.Maxrss)
	}
	return uint64(u.Maxrss) << 10
}
