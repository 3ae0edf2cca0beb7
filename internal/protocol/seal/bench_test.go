package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"io"
	"testing"
	"time"
)

// BenchmarkWriter compares sealing with bare AES-256-GCM records of the same
// size, measured in turns in the same run.
func BenchmarkWriter(b *testing.B) {
	plain, key := content(64<<20), NewKey()
	block, _ := aes.NewCipher(key[:])
	aead, _ := cipher.NewGCM(block)
	out := make([]byte, 0, SegmentSize+tagSize)
	nonce := make([]byte, 12)
	b.SetBytes(int64(len(plain)))
	var raw, sealed time.Duration
	for b.Loop() {
		start := time.Now()
		for at := 0; at < len(plain); at += SegmentSize {
			aead.Seal(out, nonce, plain[at:at+SegmentSize], nil)
		}
		raw += time.Since(start)
		start = time.Now()
		w, _ := NewWriter(io.Discard, key, nil)
		_, _ = w.Write(plain)
		_ = w.Close()
		sealed += time.Since(start)
	}
	b.ReportMetric(float64(raw)/float64(sealed), "x-aes-gcm")
}
