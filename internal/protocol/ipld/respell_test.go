package ipld_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/mr-tron/base58"

	"github.com/castalia-org/castalia/internal/protocol/ipld"
)

// spellings of the CID of one block: alphabets, versions, codecs, and the block
// itself inside an identity hash.
func spellings(block string) []string {
	sum := sha256.Sum256([]byte(block))
	own := "\x01\x71\x12\x20" + string(sum[:])
	text := ipld.CIDText(own)
	all := []string{
		text, strings.ToUpper(text), "z" + base58.Encode([]byte(own)), "f" + hex.EncodeToString([]byte(own)),
		"u" + base64.RawURLEncoding.EncodeToString([]byte(own)), base58.Encode([]byte(own[2:])),
	}
	for _, prefix := range []string{"\x01\x70\x12\x20", "\x01\x55\x12\x20", "\x01\xa9\x02\x12\x20"} {
		all = append(all, ipld.CIDText(prefix+string(sum[:])))
	}
	if len(block) < 0x80 {
		all = append(all, ipld.CIDText("\x01\x71\x00"+string(rune(len(block)))+block))
	}
	return all
}

// FuzzCIDSpellings: whatever a CID is written like, it has one digest; only two
// binary CIDs are names of a block in a token.
func FuzzCIDSpellings(f *testing.F) {
	f.Add("block", "bafyreigc3moywb2j24dyoyi3be5n4kb67x5qx57vedemdqzp3g5yrex66i")
	f.Add("", "QmbTHb9vb8Fm56pfrvk5eggnS53Va2Y817j92UjFGLegMP")
	f.Fuzz(func(t *testing.T, block, text string) {
		want := sha256.Sum256([]byte(block))
		for _, spelling := range spellings(block) {
			if got, err := ipld.Digest(spelling); err != nil || got != want {
				t.Fatalf("%s: %x, %v; want %x", spelling, got, err, want)
			}
		}
		id, err := ipld.ParseCID(text)
		if err != nil {
			return
		}
		if again, err := ipld.ParseCID(ipld.CIDText(id)); err != nil || again != id {
			t.Fatalf("%q is %x, whose text is read as %x, %v", text, id, again, err)
		}
		sum, err := ipld.Digest(text)
		if named := ipld.IsDagCBOR(id); named && (err != nil || ipld.DagCBORCID(sum) != id) {
			t.Fatalf("%q is %x and has digest %x, %v", text, id, sum, err)
		}
	})
}

func TestLongCIDsAreNotRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "b", "z" + strings.Repeat("2", 1<<20), "Qm" + strings.Repeat("2", 1<<20),
		"b" + strings.Repeat("a", 1<<20),
	} {
		if _, err := ipld.Digest(text); err == nil {
			t.Errorf("%d characters are read", len(text))
		}
	}
}
