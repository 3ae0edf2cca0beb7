package identitytest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/multiformats/go-varint"

	"github.com/castalia-org/castalia/internal/protocol/car"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// Label is another name that somebody without any key can give to a block.
type Label struct {
	Name string
	// CID returns the binary CID of the block under this label.
	CID func(block string) string
}

// Labels are the names that a block of a token may not travel under.
func Labels() []Label {
	hashed := func(prefix string) func(string) string {
		return func(block string) string {
			sum := sha256.Sum256([]byte(block))
			return prefix + "\x12\x20" + string(sum[:])
		}
	}
	return []Label{
		{"dag-pb", hashed("\x01\x70")},
		{"0x72", hashed("\x01\x72")},
		{"dag-json", hashed("\x01\xa9\x02")},
		{"cbor", hashed("\x01\x51")},
		{"raw", hashed("\x01\x55")},
		{"CIDv0", hashed("")},
		{"identity hash", func(block string) string {
			return "\x01\x71\x00" + string(varint.ToUvarint(uint64(len(block)))) + block
		}},
	}
}

// Relabel returns the token with its leaf under another label: the same bytes,
// the same signature, and a variant block that names them so.
func Relabel(tb testing.TB, token string, label Label) string {
	tb.Helper()
	leaf, proofs := takeApart(tb, token)
	return putTogether(label.CID(leaf), leaf, proofs)
}

// RelabelRoot returns the token with its variant block under another label.
func RelabelRoot(tb testing.TB, token string, label Label) string {
	tb.Helper()
	leaf, proofs := takeApart(tb, token)
	variant := variantOf(ipld.SumDagCBOR(leaf))
	root := label.CID(variant)
	blocks := append(proofs, car.Block{CID: ipld.SumDagCBOR(leaf), Data: leaf}, car.Block{CID: root, Data: variant})
	return base64.StdEncoding.EncodeToString(car.Append(nil, car.Archive{Roots: []string{root}, Blocks: blocks}))
}

// RelabelProof returns what the holder of a delegation can sign: a token whose
// only proof is the delegation, linked under another label.
func RelabelProof(tb testing.TB, holder Actor, audience, can, with, delegation string, label Label) string {
	tb.Helper()
	grant, above := takeApart(tb, delegation)
	id := label.CID(grant)
	plain, err := ucan.Parse(Files(tb, holder, audience, "", Can(can, with)))
	if err != nil {
		tb.Fatal(err)
	}
	leaf := signWithProof(tb, holder, plain, id)
	return putTogether(ipld.SumDagCBOR(leaf), leaf, append(above, car.Block{CID: id, Data: grant}))
}

// signWithProof writes the block of a token with a proof that ucan.Issue would
// not link to, and signs it.
func signWithProof(tb testing.TB, holder Actor, plain *ucan.Token, proof string) string {
	tb.Helper()
	block, _ := takeApart(tb, plain.Encode())
	n, err := ipld.Decode(block)
	if err != nil {
		tb.Fatal(err)
	}
	att, _ := n.Get("att")
	exp, _ := n.Get("exp")
	payload := ipld.AppendJSON(nil, ipld.MapNode(
		ipld.Entry{Key: "att", Value: att},
		ipld.Entry{Key: "aud", Value: ipld.TextNode(string(plain.Leaf.Audience))},
		ipld.Entry{Key: "exp", Value: exp},
		ipld.Entry{Key: "iss", Value: ipld.TextNode(holder.DID)},
		ipld.Entry{Key: "prf", Value: ipld.ListNode(ipld.TextNode(ipld.CIDText(proof)))},
	))
	header := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"EdDSA","typ":"JWT","ucv":"` + ucan.Version + `"}`))
	signature := holder.Signer.Sign([]byte(header + "." + base64.RawURLEncoding.EncodeToString(payload)))
	for i := range n.Entries {
		switch n.Entries[i].Key {
		case "s":
			n.Entries[i].Value = ipld.BytesNode("\xed\xa1\x03\x40" + string(signature))
		case "prf":
			n.Entries[i].Value = ipld.ListNode(ipld.LinkNode(proof))
		}
	}
	return string(ipld.AppendCBOR(nil, n))
}

// takeApart returns the leaf's block of a token and the blocks of its proofs.
func takeApart(tb testing.TB, token string) (leaf string, proofs []car.Block) {
	tb.Helper()
	data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(token))
	if err != nil {
		tb.Fatalf("identitytest: token: %v", err)
	}
	a, err := car.Read(string(data), ucan.MaxBlocks)
	if err != nil {
		tb.Fatalf("identitytest: token: %v", err)
	}
	n := len(a.Blocks)
	return a.Blocks[n-2].Data, a.Blocks[:n-2]
}

func putTogether(id, leaf string, proofs []car.Block) string {
	variant := variantOf(id)
	root := ipld.SumDagCBOR(variant)
	blocks := append(slices.Clip(proofs), car.Block{CID: id, Data: leaf}, car.Block{CID: root, Data: variant})
	return base64.StdEncoding.EncodeToString(car.Append(nil, car.Archive{Roots: []string{root}, Blocks: blocks}))
}

func variantOf(leaf string) string {
	return string(ipld.AppendCBOR(nil, ipld.MapNode(ipld.Entry{Key: "ucan@" + ucan.Version, Value: ipld.LinkNode(leaf)})))
}

// Names returns the CID of the token's leaf and its other spellings, as text: other
// labels, and its own label in other alphabets.
func Names(tb testing.TB, token string) []string {
	tb.Helper()
	leaf, _ := takeApart(tb, token)
	honest := ipld.SumDagCBOR(leaf)
	text := ipld.CIDText(honest)
	names := []string{
		text, strings.ToUpper(text), "z" + base58.Encode([]byte(honest)), "f" + hex.EncodeToString([]byte(honest)),
		"u" + base64.RawURLEncoding.EncodeToString([]byte(honest)),
	}
	for _, label := range Labels() {
		names = append(names, ipld.CIDText(label.CID(leaf)))
	}
	return names
}
