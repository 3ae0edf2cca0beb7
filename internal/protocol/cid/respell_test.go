package cid

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/mr-tron/base58"
	"pgregory.net/rapid"
)

// A file's CID is read in any alphabet and is then one value with one text; a CID
// of another version, codec or hash names no file.
func TestFileCIDHasOneSpelling(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		digest := Digest(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "digest"))
		c := New(rapid.SampledFrom([]Codec{Raw, DagPB}).Draw(t, "codec"), digest)
		b := c.Bytes()
		for _, text := range []string{
			c.String(), strings.ToUpper(c.String()), "z" + base58.Encode(b), "f" + hex.EncodeToString(b),
			"F" + strings.ToUpper(hex.EncodeToString(b)), "u" + base64.RawURLEncoding.EncodeToString(b),
			"m" + base64.RawStdEncoding.EncodeToString(b),
		} {
			if got, err := Parse(text); err != nil || got != c || got.String() != c.String() {
				t.Fatalf("%s is read as %s, %v", text, got, err)
			}
		}
		for _, other := range [][]byte{
			append([]byte{1, 0x71, 0x12, 0x20}, digest[:]...), append([]byte{1, 0xa9, 2, 0x12, 0x20}, digest[:]...),
			append([]byte{1, 0x55, 0x00, 0x20}, digest[:]...), append([]byte{1, 0x55, 0x1b, 0x20}, digest[:]...),
			append(b, 0), b[:35],
		} {
			if got, err := Parse("f" + hex.EncodeToString(other)); !errors.Is(err, ErrForeign) {
				t.Fatalf("%x is read as %s, %v", other, got, err)
			}
		}
		if got, err := Parse(base58.Encode(append([]byte{0x12, 0x20}, digest[:]...))); !errors.Is(err, ErrForeign) {
			t.Fatalf("version 0 is read as %s, %v", got, err)
		}
	})
}
