package ucan

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/multiformats/go-varint"

	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
)

// decodeProof reads a block that is followed, in either form: dag-cbor, or JWT
// text under a raw CID. Under any other label the same bytes would be a second
// name of one token, which no revocation knows. The archive's reader has computed
// the hash, so the CID is that of the bytes.
func decodeProof(id, block string) (*UCAN, error) {
	switch {
	case ipld.IsRaw(id):
		return decodeJWT(id, block)
	case ipld.IsDagCBOR(id):
		return decodeBlock(id, block)
	}
	return nil, refuse(NonCanonical, "a token travels under a CID that is not its own")
}

// decodeBlock reads a UCAN from its dag-cbor block. The block must be the
// canonical encoding of what it says: anything that the signature does not
// cover (a field more, an empty field, bytes behind the signature) is refused.
func decodeBlock(id, block string) (*UCAN, error) {
	n, err := ipld.Decode(block)
	if err != nil {
		return nil, unreadable("UCAN block", err)
	}
	if n.Kind != ipld.Map {
		return nil, refuse(Malformed, "UCAN block is not a map")
	}
	u := &UCAN{cid: id}
	var seen uint16
	for _, e := range n.Entries {
		bit, err := u.field(e.Key, e.Value)
		if err != nil {
			return nil, err
		}
		seen |= bit
	}
	if missing := fieldsRequired &^ seen; missing != 0 {
		return nil, refuse(Malformed, "a required field is missing")
	}
	if seen&fieldPrf == 0 {
		return nil, refuse(NonCanonical, "prf is missing")
	}
	return u, nil
}

const (
	fieldS uint16 = 1 << iota
	fieldV
	fieldAtt
	fieldAud
	fieldExp
	fieldIss
	fieldPrf

	fieldsRequired = fieldS | fieldV | fieldAtt | fieldAud | fieldExp | fieldIss
)

// field reads one member of the block, and says which required one it was.
func (u *UCAN) field(key string, v ipld.Node) (bit uint16, err error) {
	switch key {
	case "s":
		if v.Kind != ipld.Bytes {
			return 0, refuse(Malformed, "s is not bytes")
		}
		u.signature, err = parseSignature(v.Str)
		return fieldS, err
	case "v":
		if v.Kind != ipld.Text || v.Str != Version {
			return 0, refuse(Malformed, "v is not %q", Version)
		}
		return fieldV, nil
	case "att":
		u.Capabilities, err = readCapabilities(v)
		return fieldAtt, err
	case "aud":
		u.Audience, err = readPrincipal("aud", v)
		return fieldAud, err
	case "iss":
		u.Issuer, err = readPrincipal("iss", v)
		u.issuer = v.Str
		return fieldIss, err
	case "exp":
		if v.Kind == ipld.Null {
			u.NoExpiry = true
			return fieldExp, nil
		}
		exp, ok := v.Int64()
		if !ok {
			return 0, refuse(Malformed, "exp is neither null nor an integer")
		}
		u.Expires = exp
		return fieldExp, nil
	case "prf":
		u.Proofs, err = readLinks(v)
		return fieldPrf, err
	}
	return 0, u.optional(key, v)
}

// optional reads the members that are written only when they say something.
func (u *UCAN) optional(key string, v ipld.Node) error {
	switch key {
	case "fct":
		if v.Kind != ipld.List {
			return refuse(Malformed, "fct is not a list")
		}
		if len(v.List) == 0 {
			return refuse(NonCanonical, "empty fct")
		}
		for _, fact := range v.List {
			if fact.Kind != ipld.Map {
				return refuse(Malformed, "fact is not a map")
			}
		}
		u.Facts = v.List
	case "nbf":
		nbf, ok := v.Int64()
		if !ok {
			return refuse(Malformed, "nbf is not an integer")
		}
		if nbf == 0 {
			return refuse(NonCanonical, "nbf of 0")
		}
		u.NotBefore = nbf
	case "nnc":
		if v.Kind != ipld.Text {
			return refuse(Malformed, "nnc is not text")
		}
		if v.Str == "" {
			return refuse(NonCanonical, "empty nnc")
		}
		u.Nonce = v.Str
	default:
		return refuse(NonCanonical, "unknown field %q", key)
	}
	return nil
}

func readPrincipal(name string, v ipld.Node) (did.DID, error) {
	if v.Kind != ipld.Bytes {
		return "", refuse(Malformed, "%s is not bytes", name)
	}
	d, err := did.FromBytes(v.Str)
	if err != nil {
		return "", unreadable(name, err)
	}
	return d, nil
}

func readLinks(v ipld.Node) ([]string, error) {
	if v.Kind != ipld.List || len(v.List) > MaxProofs {
		return nil, refuse(Malformed, "prf is not a list of at most %d links", MaxProofs)
	}
	if len(v.List) == 0 {
		return nil, nil
	}
	links := make([]string, len(v.List))
	for i, l := range v.List {
		if l.Kind != ipld.Link {
			return nil, refuse(Malformed, "proof %d is not a link", i)
		}
		links[i] = l.Str
	}
	return links, nil
}

func readCapabilities(v ipld.Node) ([]Capability, error) {
	if v.Kind != ipld.List || len(v.List) > MaxCapabilities {
		return nil, refuse(Malformed, "att is not a list of at most %d capabilities", MaxCapabilities)
	}
	caps := make([]Capability, len(v.List))
	for i, n := range v.List {
		can, okCan := n.Get("can")
		with, okWith := n.Get("with")
		if !okCan || !okWith || can.Kind != ipld.Text || with.Kind != ipld.Text {
			return nil, refuse(Malformed, "capability %d has no can or with", i)
		}
		if !validAbility(can.Str) {
			return nil, refuse(Malformed, "capability %d: ability %q", i, can.Str)
		}
		if can.Str != strings.ToLower(can.Str) {
			return nil, refuse(NonCanonical, "capability %d: ability is not lower case", i)
		}
		if _, err := ParseResource(with.Str); err != nil {
			return nil, err
		}
		nb, _ := n.Get("nb")
		caps[i] = Capability{Can: can.Str, With: with.Str, NB: nb, node: n}
	}
	return caps, nil
}

// signature is the framed signature of a block.
type signature struct {
	alg    did.Algorithm
	raw    string
	name   string // of a NonStandard algorithm
	framed string
}

func parseSignature(s string) (signature, error) {
	code, n, err := varint.FromUvarint([]byte(s[:min(len(s), varint.MaxLenUvarint63)]))
	if err != nil {
		return signature{}, unreadable("signature code", err)
	}
	alg := did.Algorithm(code)
	if _, known := alg.Name(); !known {
		return signature{}, refuse(Malformed, "signature code 0x%x", code)
	}
	rest := s[n:]
	size, n, err := varint.FromUvarint([]byte(rest[:min(len(rest), varint.MaxLenUvarint63)]))
	if err != nil {
		return signature{}, unreadable("signature length", err)
	}
	rest = rest[n:]
	if size > uint64(len(rest)) {
		return signature{}, refuse(Malformed, "signature is shorter than it says")
	}
	sig := signature{alg: alg, raw: rest[:size], framed: s}
	if tail := rest[size:]; alg == did.NonStandard {
		sig.name = tail
	} else if tail != "" {
		return signature{}, refuse(NonCanonical, "bytes after the signature")
	}
	return sig, nil
}

// frame writes a signature as it stands in a block.
func frame(alg did.Algorithm, raw []byte) string {
	head := append(varint.ToUvarint(uint64(alg)), varint.ToUvarint(uint64(len(raw)))...)
	return string(append(head, raw...))
}

// absent reports whether the block was left unsigned, for an attestation to vouch for.
func (s signature) absent() bool { return s.alg == did.NonStandard && s.raw == "" && s.name == "" }

func (s signature) algorithmName() string {
	if s.alg == did.NonStandard {
		return s.name
	}
	name, _ := s.alg.Name()
	return name
}

// headerEdDSA is the encoded header of nearly every token.
const headerEdDSA = "eyJhbGciOiJFZERTQSIsInR5cCI6IkpXVCIsInVjdiI6IjAuOS4xIn0"

// signingInput returns what the issuer signed: header.payload of a JWT.
func (u *UCAN) signingInput() []byte {
	payload := u.appendPayload(make([]byte, 0, 768))
	input := make([]byte, 0, len(headerEdDSA)+1+base64.RawURLEncoding.EncodedLen(len(payload))+64)
	if u.signature.alg == did.EdDSA {
		input = append(input, headerEdDSA...)
	} else {
		header := ipld.AppendJSONText([]byte(`{"alg":`), u.signature.algorithmName())
		header = append(header, `,"typ":"JWT","ucv":"`+Version+`"}`...)
		input = base64.RawURLEncoding.AppendEncode(input, header)
	}
	input = append(input, '.')
	return base64.RawURLEncoding.AppendEncode(input, payload)
}

// appendPayload writes the payload's dag-json; its keys are in order as written.
func (u *UCAN) appendPayload(b []byte) []byte {
	b = append(b, `{"att":[`...)
	for i := range u.Capabilities {
		if i > 0 {
			b = append(b, ',')
		}
		b = ipld.AppendJSON(b, u.Capabilities[i].node)
	}
	b = append(b, `],"aud":`...)
	b = ipld.AppendJSONText(b, string(u.Audience))
	b = append(b, `,"exp":`...)
	if u.NoExpiry {
		b = append(b, "null"...)
	} else {
		b = strconv.AppendInt(b, u.Expires, 10)
	}
	if len(u.Facts) > 0 {
		b = append(b, `,"fct":`...)
		b = ipld.AppendJSON(b, ipld.ListNode(u.Facts...))
	}
	b = append(b, `,"iss":`...)
	b = ipld.AppendJSONText(b, string(u.Issuer))
	if u.NotBefore != 0 {
		b = append(b, `,"nbf":`...)
		b = strconv.AppendInt(b, u.NotBefore, 10)
	}
	if u.Nonce != "" {
		b = append(b, `,"nnc":`...)
		b = ipld.AppendJSONText(b, u.Nonce)
	}
	b = append(b, `,"prf":[`...)
	for i, link := range u.Proofs {
		if i > 0 {
			b = append(b, ',')
		}
		b = ipld.AppendJSONText(b, ipld.CIDText(link))
	}
	return append(b, "]}"...)
}

// encode writes the block of a UCAN that has been signed.
func (u *UCAN) encode() (string, error) {
	iss, err := u.Issuer.Bytes()
	if err != nil {
		return "", err
	}
	aud, err := u.Audience.Bytes()
	if err != nil {
		return "", err
	}
	caps := make([]ipld.Node, len(u.Capabilities))
	for i, c := range u.Capabilities {
		caps[i] = c.node
	}
	links := make([]ipld.Node, len(u.Proofs))
	for i, l := range u.Proofs {
		links[i] = ipld.LinkNode(l)
	}
	exp := ipld.Node{}
	if !u.NoExpiry {
		exp = ipld.IntNode(u.Expires)
	}
	entries := []ipld.Entry{
		{Key: "s", Value: ipld.BytesNode(u.signature.framed)},
		{Key: "v", Value: ipld.TextNode(Version)},
		{Key: "att", Value: ipld.ListNode(caps...)},
		{Key: "aud", Value: ipld.BytesNode(aud)},
		{Key: "exp", Value: exp},
		{Key: "iss", Value: ipld.BytesNode(iss)},
		{Key: "prf", Value: ipld.ListNode(links...)},
	}
	if len(u.Facts) > 0 {
		entries = append(entries, ipld.Entry{Key: "fct", Value: ipld.ListNode(u.Facts...)})
	}
	if u.NotBefore != 0 {
		entries = append(entries, ipld.Entry{Key: "nbf", Value: ipld.IntNode(u.NotBefore)})
	}
	if u.Nonce != "" {
		entries = append(entries, ipld.Entry{Key: "nnc", Value: ipld.TextNode(u.Nonce)})
	}
	return string(ipld.AppendCBOR(nil, ipld.MapNode(entries...))), nil
}
