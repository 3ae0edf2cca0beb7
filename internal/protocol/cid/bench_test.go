package cid

import (
	"bytes"
	"crypto/sha256"
	"runtime"
	"testing"
	"time"
)

// BenchmarkSum compares the CID of 256 MiB with one core's SHA-256 of the same
// bytes, measured in turns in the same run.
func BenchmarkSum(b *testing.B) {
	content := make([]byte, 256<<20)
	_, _ = generate("fmix32", int64(len(content))).Read(content)
	for _, workers := range []int{1, runtime.GOMAXPROCS(0)} {
		b.Run(map[bool]string{true: "one-worker", false: "all-cores"}[workers == 1], func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			var raw, sum time.Duration
			for b.Loop() {
				start := time.Now()
				sha256.Sum256(content)
				raw += time.Since(start)
				start = time.Now()
				if _, _, err := Sum(bytes.NewReader(content), Options{Workers: workers}); err != nil {
					b.Fatal(err)
				}
				sum += time.Since(start)
			}
			b.ReportMetric(float64(raw)/float64(sum), "x-sha256")
		})
	}
}
