package ucan

import (
	"encoding/base64"
	"strings"

	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
)

// decodeJWT reads a proof that travels as JWT text. The text must be the one
// that ucanto would write: with another key order or another spelling the
// signature does not cover what we would check.
func decodeJWT(id, text string) (*UCAN, error) {
	header, rest, ok := strings.Cut(text, ".")
	payload, sig, ok2 := strings.Cut(rest, ".")
	if !ok || !ok2 {
		return nil, refuse(Malformed, "neither a UCAN block nor a JWT")
	}
	head, err := decodeJWTPart(header)
	if err != nil {
		return nil, err
	}
	body, err := decodeJWTPart(payload)
	if err != nil {
		return nil, err
	}
	raw, err := base64.RawURLEncoding.DecodeString(sig)
	if err != nil {
		return nil, unreadable("JWT signature", err)
	}
	if base64.RawURLEncoding.EncodeToString(raw) != sig { // line breaks, or bits behind the last byte
		return nil, refuse(NonCanonical, "JWT signature is not in canonical form")
	}
	alg, _ := head.Get("alg")
	code, ok := algorithmByName(alg.Str)
	if !ok {
		return nil, refuse(Malformed, "JWT algorithm %q", alg.Str)
	}
	u := &UCAN{cid: id, signature: signature{alg: code, raw: string(raw), framed: frame(code, raw)}}
	if err := u.readPayload(body); err != nil {
		return nil, err
	}
	if string(u.signingInput()) != header+"."+payload {
		return nil, refuse(InvalidSignature, "JWT is not in canonical form")
	}
	block, err := u.encode()
	if err != nil {
		return nil, unreadable("JWT", err)
	}
	u.canonical = ipld.SumDagCBOR(block)
	return u, nil
}

func decodeJWTPart(part string) (ipld.Node, error) {
	raw, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return ipld.Node{}, unreadable("JWT", err)
	}
	n, err := ipld.DecodeJSON(raw)
	if err != nil {
		return ipld.Node{}, unreadable("JWT", err)
	}
	return n, nil
}

func algorithmByName(name string) (did.Algorithm, bool) {
	for _, a := range []did.Algorithm{did.EdDSA, did.RS256, did.ES256, did.ES256K} {
		if n, _ := a.Name(); n == name {
			return a, true
		}
	}
	return 0, false
}

// readPayload fills u from a JWT payload, in which principals and proofs are text.
func (u *UCAN) readPayload(body ipld.Node) error {
	for _, e := range body.Entries {
		v := e.Value
		switch e.Key {
		case "iss", "aud":
			d, err := did.Parse(v.Str)
			if err != nil {
				return unreadable(e.Key, err)
			}
			raw, err := d.Bytes()
			if err != nil {
				return unreadable(e.Key, err)
			}
			v = ipld.BytesNode(raw)
		case "prf":
			links := make([]ipld.Node, len(v.List))
			for i, l := range v.List {
				id, err := ipld.ParseCID(l.Str)
				if err != nil {
					return unreadable("prf", err)
				}
				links[i] = ipld.LinkNode(id)
			}
			v = ipld.ListNode(links...)
		case "s", "v":
			return refuse(Malformed, "JWT field %q", e.Key)
		}
		if _, err := u.field(e.Key, v); err != nil {
			return err
		}
	}
	if u.Issuer == "" || u.Audience == "" {
		return refuse(Malformed, "JWT has no iss or aud")
	}
	if _, ok := body.Get("exp"); !ok {
		return refuse(Malformed, "JWT has no exp")
	}
	return nil
}
