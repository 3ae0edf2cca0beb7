package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"io"
	"testing"
	"time"
)

// BenchmarkSealer compares sealing, in the pieces and buffers of an upload, with bare AES-256-GCM records of the same
// size, measured in turns in the same run.
func BenchmarkSealer(b *testing.B) {
	plain, key := content(64<<20), NewKey()
	block, _ := aes.NewCipher(key[:])
	aead, _ := cipher.NewGCM(block)
	out := make([]byte, 0, SegmentSize+tagSize)
	nonce, disk := make([]byte, 12), make([]byte, 512<<10)
	b.SetBytes(int64(len(plain)))
	var raw, sealed time.Duration
	for b.Loop() {
		start := time.Now()
		for at := 0; at < len(plain); at += SegmentSize {
			aead.Seal(out, nonce, plain[at:at+SegmentSize], nil)
		}
		raw += time.Since(start)
		start = time.Now()
		rest := plain
		s, _ := NewSealer(func() ([]byte, error) {
			if len(rest) == 0 {
				return nil, io.EOF
			}
			p := rest[:256<<10]
			rest = rest[len(p):]
			return p, nil
		}, key, nil)
		for _, err := s.Read(disk); err == nil; _, err = s.Read(disk) {
		}
		sealed += time.Since(start)
	}
	b.ReportMetric(float64(raw)/float64(sealed), "x-aes-gcm")
}
