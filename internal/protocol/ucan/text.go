package ucan

import (
	"encoding/base64"
	"strings"

	"github.com/multiformats/go-varint"

	"github.com/castalia-org/castalia/internal/protocol/car"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
)

// The keys of root blocks that name the leaf.
const (
	variantKey = "ucan@" + Version
	messageKey = "ucanto/message@7.0.0"
)

// Parse reads a token from text: base64 of a CAR in either alphabet, padded or
// not, with white space, or the multibase form that Storacha tools print.
func Parse(text string) (*Token, error) {
	data, err := decodeText(text)
	if err != nil {
		return nil, err
	}
	return ParseCAR(data)
}

// decodeText undoes base64 as leniently as Node's Buffer does, but for junk.
func decodeText(text string) (string, error) {
	// Four characters carry three bytes; white space is allowed on top.
	if len(text) > MaxBytes*2 {
		return "", refuse(Malformed, "token is longer than %d bytes", MaxBytes)
	}
	body := strings.TrimRight(standard(text), "=")
	if inner, ok := unwrapIdentity(body); ok {
		return inner, nil
	}
	return decodeBase64(body)
}

// standard returns text without white space and in the usual alphabet. Most
// tokens are written so, and are returned as they are.
func standard(text string) string {
	if !strings.ContainsAny(text, " \t\r\n-_") {
		return text
	}
	clean := make([]byte, 0, len(text))
	for i := range len(text) {
		switch c := text[i]; c {
		case ' ', '\t', '\r', '\n':
		case '-':
			clean = append(clean, '+')
		case '_':
			clean = append(clean, '/')
		default:
			clean = append(clean, c)
		}
	}
	return string(clean)
}

func decodeBase64(body string) (string, error) {
	raw, err := base64.RawStdEncoding.DecodeString(body)
	if err != nil {
		return "", unreadable("token is not base64", err)
	}
	if len(raw) > MaxBytes {
		return "", refuse(Malformed, "token is longer than %d bytes", MaxBytes)
	}
	return string(raw), nil
}

// identityCAR begins a CID of version 1, codec CAR, identity hash.
const identityCAR = "\x01\x82\x04\x00"

// unwrapIdentity reads "m" + base64 of a CID that contains the archive itself.
func unwrapIdentity(body string) (string, bool) {
	inner, ok := strings.CutPrefix(body, "m")
	if !ok {
		return "", false
	}
	raw, err := decodeBase64(inner)
	if err != nil || !strings.HasPrefix(raw, identityCAR) {
		return "", false
	}
	raw = raw[len(identityCAR):]
	size, n, err := varint.FromUvarint([]byte(raw[:min(len(raw), varint.MaxLenUvarint63)]))
	if err != nil {
		return "", false
	}
	raw = raw[n:]
	return raw, uint64(len(raw)) == size
}

// ParseCAR reads a token from its archive.
func ParseCAR(data string) (*Token, error) {
	if len(data) > MaxBytes {
		return nil, refuse(Malformed, "token is longer than %d bytes", MaxBytes)
	}
	archive, err := car.Read(data, MaxBlocks)
	if err != nil {
		return nil, unreadable("archive", err)
	}
	if !ipld.IsDagCBOR(archive.Roots[0]) {
		return nil, refuse(NonCanonical, "root block is not named as dag-cbor by SHA-256")
	}
	root, ok := archive.Find(archive.Roots[0])
	if !ok {
		return nil, refuse(Malformed, "root block is not in the archive")
	}
	leaf, err := leafOf(root)
	if err != nil {
		return nil, err
	}
	block, ok := archive.Find(leaf)
	if !ok {
		return nil, refuse(Malformed, "leaf block is not in the archive")
	}
	u, err := decodeProof(leaf, block)
	if err != nil {
		return nil, err
	}
	t := &Token{Leaf: u, leafBlock: block}
	if len(u.Proofs) > 0 {
		t.blocks = make(map[string]string, len(archive.Blocks))
		for _, b := range archive.Blocks {
			if b.CID != leaf {
				t.blocks[b.CID] = b.Data
			}
		}
	}
	return t, nil
}

// leafOf returns the binary CID that the root block names: the leaf of a
// delegation archive, or the only invocation of an agent message.
func leafOf(root string) (string, error) {
	n, err := ipld.Decode(root)
	if err != nil {
		return "", unreadable("root block", err)
	}
	if n.Kind != ipld.Map || len(n.Entries) != 1 {
		return "", refuse(Malformed, "root block names no token")
	}
	switch e := n.Entries[0]; e.Key {
	case variantKey:
		if e.Value.Kind == ipld.Link {
			return e.Value.Str, nil
		}
	case messageKey:
		execute, _ := e.Value.Get("execute")
		if execute.Kind == ipld.List && len(execute.List) == 1 && execute.List[0].Kind == ipld.Link {
			return execute.List[0].Str, nil
		}
	}
	return "", refuse(Malformed, "root block names no token")
}

// Encode returns the token as it is sent: standard base64 of the archive.
func (t *Token) Encode() string { return base64.StdEncoding.EncodeToString(t.Archive()) }

// Archive returns the CAR: proofs depth first, the leaf, and the variant block
// that is its root.
func (t *Token) Archive() []byte {
	variant := string(ipld.AppendCBOR(nil, ipld.MapNode(ipld.Entry{Key: variantKey, Value: ipld.LinkNode(t.Leaf.cid)})))
	root := ipld.SumDagCBOR(variant)
	a := car.Archive{Roots: []string{root}}
	t.collect(t.Leaf, &a, make(map[string]bool), 0)
	a.Blocks = append(
		a.Blocks,
		car.Block{CID: t.Leaf.cid, Data: t.leafBlock},
		car.Block{CID: root, Data: variant},
	)
	return car.Append(nil, a)
}

// collect appends the proofs of u that are at hand, deepest first.
func (t *Token) collect(u *UCAN, a *car.Archive, done map[string]bool, depth int) {
	if depth > MaxDepth {
		return
	}
	for _, id := range u.Proofs {
		block, ok := t.blocks[id]
		if !ok || done[id] {
			continue
		}
		done[id] = true
		if p, err := decodeProof(id, block); err == nil {
			t.collect(p, a, done, depth+1)
		}
		a.Blocks = append(a.Blocks, car.Block{CID: id, Data: block})
	}
}
