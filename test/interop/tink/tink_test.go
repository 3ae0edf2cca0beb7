// Package tink compares our sealed format with the library that defines it.
package tink

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/tink-crypto/tink-go/v2/streamingaead/subtle"

	"github.com/castalia-org/castalia/internal/protocol/seal"
)

// sizes are around the borders of segments.
var sizes = []int{0, 1, 16, 65479, 65480, 65481, 65480 + 65519, 65480 + 65520, 65480 + 65521, 1 << 20, 3<<20 + 7}

func content(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{3}).Read(b)
	return b
}

func TestTinkOpensOurs(t *testing.T) {
	t.Parallel()
	for _, n := range sizes {
		plain, key, aad := content(n), seal.NewKey(), fmt.Appendf(nil, "place %d", n)
		_, sealed, err := seal.Bytes(plain, key, aad)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := subtle.NewAESGCMHKDF(key[:], "SHA256", seal.KeySize, seal.SegmentSize, 0)
		if err != nil {
			t.Fatal(err)
		}
		r, err := theirs.NewDecryptingReader(bytes.NewReader(sealed), aad)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func TestTinkOpensOurFineSegments(t *testing.T) {
	t.Parallel()
	for _, n := range sizes {
		plain, key, aad := content(n), seal.NewKey(), fmt.Appendf(nil, "place %d", n)
		left := bytes.NewBuffer(plain)
		ours, err := seal.NewFineSealer(func() ([]byte, error) {
			if left.Len() == 0 {
				return nil, io.EOF
			}
			return left.Next(10_000), nil
		}, key, aad)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := subtle.NewAESGCMHKDF(key[:], "SHA256", seal.KeySize, seal.FineSegmentSize, 0)
		if err != nil {
			t.Fatal(err)
		}
		r, err := theirs.NewDecryptingReader(ours, aad)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func TestWeOpenTinks(t *testing.T) {
	t.Parallel()
	for _, n := range sizes {
		weOpen(t, n, seal.SegmentSize)
		weOpen(t, n, seal.FineSegmentSize)
	}
}

func weOpen(t *testing.T, n, segmentSize int) {
	t.Helper()
	plain, key, aad := content(n), seal.NewKey(), []byte("place")
	theirs, err := subtle.NewAESGCMHKDF(key[:], "SHA256", seal.KeySize, segmentSize, 0)
	if err != nil {
		t.Fatal(err)
	}
	var sealed bytes.Buffer
	w, err := theirs.NewEncryptingWriter(&sealed, aad)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := seal.Open(sealed.Bytes(), key, aad, int64(n))
	if err != nil || !bytes.Equal(got, plain) {
		t.Errorf("%d bytes: %v", n, err)
	}
}
