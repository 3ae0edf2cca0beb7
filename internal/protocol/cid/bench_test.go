package cid

import (
	"bytes"
	"crypto/sha256"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// spent is how long something took, by the clock and in processor time.
type spent struct{ wall, cpu time.Duration }

func (s *spent) on(b *testing.B, do func()) {
	b.Helper()
	start, cpu := time.Now(), processor(b)
	do()
	s.wall += time.Since(start)
	s.cpu += processor(b) - cpu
}

func processor(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkSum compares the CID of 256 MiB with one core's SHA-256 of the same
// bytes, in turns. x-sha256 is by the clock (the goals are 0.95 for one worker
// and 1.7 for two cores); x-sha256-a-core is by processor time, which a busy
// machine does not spoil.
func BenchmarkSum(b *testing.B) {
	content := make([]byte, 256<<20)
	_, _ = generate("fmix32", int64(len(content))).Read(content)
	for _, workers := range []int{1, runtime.GOMAXPROCS(0)} {
		b.Run(map[bool]string{true: "one-worker", false: "all-cores"}[workers == 1], func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			var raw, sum spent
			for b.Loop() {
				raw.on(b, func() { sha256.Sum256(content) })
				sum.on(b, func() {
					if _, _, err := Sum(bytes.NewReader(content), Options{Workers: workers}); err != nil {
						b.Fatal(err)
					}
				})
			}
			b.ReportMetric(float64(raw.wall)/float64(sum.wall), "x-sha256")
			b.ReportMetric(float64(raw.cpu)/float64(sum.cpu), "x-sha256-a-core")
		})
	}
}
