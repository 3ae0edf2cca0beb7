package system_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/test/system"
)

const transferSize = 1 << 30

// spent is how long something took, by the clock and in processor time of this
// process, which is the client, and of the server.
type spent struct{ wall, client, server time.Duration }

func (s *spent) on(b *testing.B, pid int, do func()) {
	b.Helper()
	start, client, server := time.Now(), ownTime(b), timeOf(b, pid)
	do()
	s.wall += time.Since(start)
	s.client += ownTime(b) - client
	s.server += timeOf(b, pid) - server
}

// BenchmarkTransfer sends a file of 1 GiB to the real program (HTTP, CID, content
// hash, seal, disk) and fetches it, in turns with one core's SHA-256 and
// AES-256-GCM of as many bytes. On a busy machine look at the processor
// seconds: a ratio of 0.5 on two cores needs at most four times as many, client
// and server together, as the hash takes.
func BenchmarkTransfer(b *testing.B) {
	b.Setenv("CASTALIA_BINARY", plainBinary(b))
	node := system.Start(b, system.Embedded, "LOG_LEVEL=info").Node(0)
	who, err := did.NewSigner()
	if err != nil {
		b.Fatal(err)
	}
	token, err := files(b, node, who).Token(b.Context(), 10*time.Minute)
	if err != nil {
		b.Fatal(err)
	}
	chunk := randomBytes(1<<20, 1)
	file := bigFile(b, chunk)
	buf := make([]byte, 1<<20)
	send := func(method string, body io.Reader, length int64) int64 {
		r, err := http.NewRequestWithContext(b.Context(), method, node.URL+"/api/fs/content?path=/big&keep=1", body)
		if err != nil {
			b.Fatal(err)
		}
		r.ContentLength = length
		r.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		if res.StatusCode >= 300 {
			b.Fatal(res.Status)
		}
		// in large pieces: the client must cost little
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, res.Body, buf)
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	var raw, gcm, up, down spent
	var upPeak, downPeak float64
	b.SetBytes(transferSize)
	for b.Loop() {
		raw.on(b, node.PID(), func() { hashRaw(chunk) })
		gcm.on(b, node.PID(), func() { sealRaw(b, chunk) })
		up.on(b, node.PID(), func() {
			f, err := os.Open(file)
			if err != nil {
				b.Fatal(err)
			}
			send(http.MethodPut, f, transferSize)
		})
		upPeak = max(upPeak, peakMemory(b, node.PID()))
		down.on(b, node.PID(), func() {
			if n := send(http.MethodGet, http.NoBody, 0); n != transferSize {
				b.Fatalf("%d bytes came back", n)
			}
		})
		downPeak = max(downPeak, peakMemory(b, node.PID()))
	}
	b.ReportMetric(float64(raw.wall)/float64(up.wall), "upload-x-sha256")
	b.ReportMetric(float64(raw.wall)/float64(down.wall), "download-x-sha256")
	for name, s := range map[string]spent{"sha256": raw, "aes-gcm": gcm, "upload": up, "download": down} {
		b.ReportMetric((s.client+s.server).Seconds()/float64(b.N), name+"-cpu-s/GiB")
	}
	b.ReportMetric(up.server.Seconds()/float64(b.N), "upload-server-cpu-s/GiB")
	b.ReportMetric(upPeak, "upload-rss-MB")
	b.ReportMetric(downPeak, "download-rss-MB")
}

// plainBinary builds the program without the race detector, which other tests
// here have.
func plainBinary(b *testing.B) string {
	b.Helper()
	if path := os.Getenv("CASTALIA_BINARY"); path != "" {
		return path
	}
	path := filepath.Join(b.TempDir(), "castalia")
	cmd := exec.CommandContext(b.Context(), "go", "build", "-o", path, "github.com/castalia-org/castalia/cmd/castalia")
	if text, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("build the program: %v\n%s", err, text)
	}
	return path
}

func hashRaw(chunk []byte) {
	h := sha256.New()
	for range transferSize / len(chunk) {
		h.Write(chunk)
	}
}

func sealRaw(b *testing.B, chunk []byte) {
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
	for range transferSize / segment {
		aead.Seal(out, make([]byte, 12), chunk[:segment], nil)
	}
}

// bigFile makes a file of the chunk repeated. It is synced: or the disk would be
// busy with it while others are timed.
func bigFile(b *testing.B, chunk []byte) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "big")
	f, err := os.Create(path)
	for range transferSize / len(chunk) {
		if err == nil {
			_, err = f.Write(chunk)
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		b.Fatal(err)
	}
	return path
}

// ownTime is the processor time of this process.
func ownTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// timeOf is the processor time of another process, in ticks of a hundredth of a
// second; 0 where the system does not tell.
func timeOf(b *testing.B, pid int) time.Duration {
	b.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	var ticks int64
	for _, f := range fields[11:13] { // utime and stime
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// peakMemory is the largest resident memory of a process so far, in MB; 0 where
// the system does not tell.
func peakMemory(b *testing.B, pid int) float64 {
	b.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	if err != nil {
		b.Fatal(err)
	}
	return kib * 1024 / 1e6
}
