package ipld_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/ipfs/go-cid"
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

// multibases are the first letters of all alphabets in which a CID is read.
const multibases = "0fFvVtTbBcCkKzZmMuU"

// FuzzMultibaseSpellings: in whichever alphabet the CID of a block is written, and with one letter
// changed, put in or left out, it is refused, or is the same CID, or another's.
func FuzzMultibaseSpellings(f *testing.F) {
	for at := range uint16(len(multibases)) {
		f.Add("block", at, uint16(0), byte('='), byte(0))
		f.Add("block", at, ^uint16(0), byte('='), byte(1))
	}
	f.Add("", uint16(9), uint16(58), byte('b'), byte(2)) // the bits of the last letter that are over
	f.Add("case", uint16(9), uint16(0), byte('B'), byte(2))
	f.Fuzz(func(t *testing.T, block string, base, at uint16, letter, how byte) {
		want := sha256.Sum256([]byte(block))
		own := ipld.DagCBORCID(want)
		binary, err := cid.Cast([]byte(own))
		if err != nil {
			t.Fatal(err)
		}
		first := int(base) % len(multibases)
		alphabet, err := cid.ExtractEncoding(multibases[first:first+1] + strings.Repeat("0", 60))
		if err != nil {
			t.Fatal(err)
		}
		text, err := binary.StringOfBase(alphabet)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ipld.ParseCID(text); err != nil || got != own {
			t.Fatalf("%s is read as %x, %v; want %x", text, got, err, own)
		}
		place := int(at) % (len(text) + 1)
		changed := text[:place] + string([]byte{letter}) + text[place:]
		switch {
		case how%3 == 1 && place < len(text):
			changed = text[:place] + text[place+1:]
		case how%3 == 2 && place < len(text):
			changed = text[:place] + string([]byte{letter}) + text[place+1:]
		}
		got, err := ipld.ParseCID(changed)
		if err != nil {
			return
		}
		sum, err := ipld.Digest(changed)
		if ipld.IsDagCBOR(got) != (err == nil && got == ipld.DagCBORCID(sum)) {
			t.Fatalf("%s is read as %x and has digest %x, %v", changed, got, sum, err)
		}
		if again, err := ipld.ParseCID(ipld.CIDText(got)); err != nil || again != got {
			t.Fatalf("%s is %x, whose text is read as %x, %v", changed, got, again, err)
		}
		if err == nil && sum == want && len(got) == len(own) && got[:2] == own[:2] && got != own {
			t.Fatalf("%s is another name of the block: %x", changed, got)
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
