package ucan_test

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/multiformats/go-varint"

	"github.com/castalia-org/castalia/internal/protocol/car"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// labelled wraps a leaf's block under any CID that somebody may write before it.
func labelled(id, block string, more ...car.Block) string {
	variant := string(ipld.AppendCBOR(nil, ipld.MapNode(ipld.Entry{Key: "ucan@" + ucan.Version, Value: ipld.LinkNode(id)})))
	root := ipld.SumDagCBOR(variant)
	return string(car.Append(nil, car.Archive{
		Roots: []string{root}, Blocks: append(more, car.Block{CID: id, Data: block}, car.Block{CID: root, Data: variant}),
	}))
}

func leafBlock(tb testing.TB, token *ucan.Token) string {
	tb.Helper()
	archive, err := car.Read(string(token.Archive()), ucan.MaxBlocks)
	if err != nil {
		tb.Fatal(err)
	}
	return archive.Blocks[len(archive.Blocks)-2].Data
}

// A token is read in several texts, which are all the same token, and under one
// CID. Blocks that nothing follows may be called anything.
func TestTokenHasOneName(t *testing.T) {
	t.Parallel()
	token := issue(t, 1, "did:web:s.test", nil)
	text, raw := token.Encode(), string(token.Archive())
	inside := "m" + base64.RawStdEncoding.EncodeToString([]byte("\x01\x82\x04\x00"+string(varint.ToUvarint(uint64(len(raw))))+raw))
	for name, spelling := range map[string]string{
		"in a CID":  inside,
		"unpadded":  strings.TrimRight(text, "="),
		"URL":       base64.URLEncoding.EncodeToString([]byte(raw)),
		"with room": " " + text[:10] + "\n" + text[10:] + "\t",
	} {
		if same, err := ucan.Parse(spelling); err != nil || same.CID() != token.CID() ||
			same.StatementHash() != token.StatementHash() {
			t.Errorf("%s: %v", name, err)
		}
	}
	block := leafBlock(t, token)
	sum := sha256.Sum256([]byte(block))
	for _, prefix := range []string{"", "\x01\x70", "\x01\x72", "\x01\x55", "\x01\x51", "\x01\xa9\x02"} {
		id := prefix + "\x12\x20" + string(sum[:])
		if _, err := ucan.ParseCAR(labelled(id, block)); err == nil {
			t.Errorf("a leaf under %x is read", id)
		}
		beside := car.Block{CID: id, Data: block}
		if same, err := ucan.ParseCAR(labelled(ipld.SumDagCBOR(block), block, beside)); err != nil ||
			same.CID() != token.CID() {
			t.Errorf("beside a block under %x that nothing follows: %v", id, err)
		}
		name, ok := ucan.NameOf(ipld.CIDText(id))
		if !ok || name != token.CID() {
			t.Errorf("%x names %s", id, name)
		}
	}
}

// What is signed is text, in which a link and bytes look like maps. A block that
// has such maps instead says the same to the signature and would be a second token.
func TestMapsThatReadAsLinksAreRefused(t *testing.T) {
	t.Parallel()
	id := ipld.SumDagCBOR("a block")
	inBlock := func(n ipld.Node) string { return string(ipld.AppendCBOR(nil, n)) }
	for name, twins := range map[string][2]ipld.Node{
		"link": {ipld.LinkNode(id), ipld.MapNode(ipld.Entry{Key: "/", Value: ipld.TextNode(ipld.CIDText(id))})},
		"bytes": {
			ipld.BytesNode("\x01\x02"),
			ipld.MapNode(ipld.Entry{Key: "/", Value: ipld.MapNode(ipld.Entry{Key: "bytes", Value: ipld.TextNode("AQI")})}),
		},
	} {
		caveat := ucan.NewCapability(read.Can, read.With, ipld.MapNode(ipld.Entry{Key: "what", Value: twins[0]}))
		token := issue(t, 1, "did:web:s.test", func(s *ucan.Statement) { s.Capabilities = []ucan.Capability{caveat} })
		block := strings.Replace(leafBlock(t, token), inBlock(twins[0]), inBlock(twins[1]), 1)
		if block == leafBlock(t, token) {
			t.Fatalf("%s: the block was not changed", name)
		}
		_, err := ucan.ParseCAR(labelled(ipld.SumDagCBOR(block), block))
		wantReason(t, err, ucan.NonCanonical)
	}
}

// FuzzTokenSpellings: whatever somebody without the key does to the bytes of a
// token, it is refused, or it says something else, or it has the same name.
func FuzzTokenSpellings(f *testing.F) {
	token := issue(f, 1, "did:web:s.test", nil)
	block := leafBlock(f, token)
	f.Add(token.Archive(), []byte("\x01\x71\x12\x20"))
	f.Add([]byte(labelled("\x01\x70\x12\x20"+ipld.SumDagCBOR(block)[4:], block)), []byte("\x01\x70\x12\x20"))
	f.Add([]byte(labelled("\x12\x20"+ipld.SumDagCBOR(block)[4:], block)), []byte("\x12\x20"))
	f.Fuzz(func(t *testing.T, archive, prefix []byte) {
		id := string(prefix) + ipld.SumDagCBOR(block)[4:]
		for _, data := range []string{string(archive), labelled(id, block)} {
			other, err := ucan.ParseCAR(data)
			if err != nil || other.StatementHash() != token.StatementHash() {
				continue
			}
			if _, err := ucan.Verify(other, owned(t)); err == nil && other.CID() != token.CID() {
				t.Fatalf("one statement has the names %s and %s", token.CID(), other.CID())
			}
		}
		if _, err := ucan.ParseCAR(labelled(id, block)); err == nil && id != ipld.SumDagCBOR(block) {
			t.Fatalf("a leaf under %x is read", id)
		}
	})
}

// FuzzNameOf: a name is its own name, and every spelling of a CID has one.
func FuzzNameOf(f *testing.F) {
	f.Add("bafyreigc3moywb2j24dyoyi3be5n4kb67x5qx57vedemdqzp3g5yrex66i")
	f.Add("zdpuAyY5MyHKKtRMH38Uh5bnVAqCaJ7v69CRZkMLaamgGVuGD")
	f.Add("QmbTHb9vb8Fm56pfrvk5eggnS53Va2Y817j92UjFGLegMP")
	f.Fuzz(func(t *testing.T, text string) {
		name, ok := ucan.NameOf(text)
		if !ok {
			return
		}
		if again, ok := ucan.NameOf(name); !ok || again != name || !strings.HasPrefix(name, "bafyrei") {
			t.Fatalf("%q is called %s, which is called %s", text, name, again)
		}
	})
}

// TestNamesAreKnownByTheirLook changes each character of a name to every other: what is
// still a name is what the decoder makes of it.
func TestNamesAreKnownByTheirLook(t *testing.T) {
	t.Parallel()
	const name = "bafyreigc3moywb2j24dyoyi3be5n4kb67x5qx57vedemdqzp3g5yrex66i"
	for i := range name {
		for c := range 128 {
			text := name[:i] + string(rune(c)) + name[i+1:]
			sum, err := ipld.Digest(text)
			want := ""
			if err == nil {
				want = ipld.CIDText(ipld.DagCBORCID(sum))
			}
			if got, ok := ucan.NameOf(text); got != want || ok != (err == nil) {
				t.Errorf("%q is called %q, want %q (%v)", text, got, want, err)
			}
		}
	}
}
