package twinhash_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"math/rand/v2"
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/twinhash"
)

func random(n int) []byte {
	b := make([]byte, n)
	g := rand.NewChaCha8([32]byte{7})
	_, _ = g.Read(b)
	return b
}

// TestAsTwoHashes writes in pieces of every length around the borders, after
// beginnings that are equally and differently far into their blocks.
func TestAsTwoHashes(t *testing.T) {
	t.Parallel()
	content := random(1 << 17)
	for _, begin := range [][2]int{{0, 0}, {0, 64}, {1, 65}, {63, 127}, {0, 1}, {17, 4096}, {5, 5}} {
		for _, piece := range []int{0, 1, 63, 64, 65, 1023, 1024, 1025, 1087, 1088, 4096, 65_537, 1 << 17} {
			a, b := sha256.New(), sha256.New()
			wantA, wantB := sha256.New(), sha256.New()
			for i, h := range []hash.Hash{a, b, wantA, wantB} {
				h.Write(content[:begin[i%2]])
			}
			for range 3 {
				twinhash.Write(a, b, content[:piece])
				wantA.Write(content[:piece])
				wantB.Write(content[:piece])
			}
			if !bytes.Equal(a.Sum(nil), wantA.Sum(nil)) || !bytes.Equal(b.Sum(nil), wantB.Sum(nil)) {
				t.Errorf("beginnings %v, three pieces of %d: %x and %x", begin, piece, a.Sum(nil), b.Sum(nil))
			}
		}
	}
}

// TestOtherHashes: one that is not SHA-256 is written to all the same.
func TestOtherHashes(t *testing.T) {
	t.Parallel()
	content := random(8192)
	a, b := sha256.New224(), &counter{}
	twinhash.Write(a, b, content)
	if want := sha256.Sum224(content); hex.EncodeToString(a.Sum(nil)) != hex.EncodeToString(want[:]) {
		t.Errorf("SHA-224 %x", a.Sum(nil))
	}
	if b.n != len(content) {
		t.Errorf("%d bytes were written", b.n)
	}
}

type counter struct {
	hash.Hash
	n int
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += len(p)
	return len(p), nil
}

func FuzzWrite(f *testing.F) {
	f.Add([]byte("one"), []byte("two"), 1, random(5000))
	f.Add(random(64), []byte{}, 20, random(1024))
	f.Fuzz(func(t *testing.T, before, other []byte, split int, p []byte) {
		a, b := sha256.New(), sha256.New()
		a.Write(before)
		b.Write(other)
		p = bytes.Repeat(p, 1+len(p)%5)
		split = min(max(split, 0), len(p))
		twinhash.Write(a, b, p[:split])
		twinhash.Write(a, b, p[split:])
		wantA, wantB := sha256.Sum256(append(bytes.Clone(before), p...)), sha256.Sum256(append(bytes.Clone(other), p...))
		if !bytes.Equal(a.Sum(nil), wantA[:]) || !bytes.Equal(b.Sum(nil), wantB[:]) {
			t.Errorf("%x and %x, not %x and %x", a.Sum(nil), b.Sum(nil), wantA, wantB)
		}
	})
}

// BenchmarkWrite prints what two hashes cost, times one.
func BenchmarkWrite(b *testing.B) {
	p := random(256 << 10)
	one, two := sha256.New(), sha256.New()
	b.Run("once", func(b *testing.B) {
		b.SetBytes(int64(len(p)))
		for b.Loop() {
			one.Write(p)
		}
	})
	b.Run("twice", func(b *testing.B) {
		b.SetBytes(int64(len(p)))
		for b.Loop() {
			one.Write(p)
			two.Write(p)
		}
	})
	b.Run("twin", func(b *testing.B) {
		b.SetBytes(int64(len(p)))
		b.ReportAllocs()
		for b.Loop() {
			twinhash.Write(one, two, p)
		}
	})
}
