package ucan

import (
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
)

// check looks at one block by itself: time, revocation, signature. Its verdict
// is remembered, so that a proof that is reached on many paths costs one
// signature. user is the block that names u as its proof.
func (v *verifier) check(u, user *UCAN) *RefusedError {
	if refusal, ok := v.verdicts[u.cid]; ok {
		return refusal
	}
	refusal := v.inTime(u)
	if refusal == nil && v.q.Revoked != nil {
		issuer := u.Issuer
		if v.known(u, func(cid string) bool { return v.q.Revoked(cid, issuer) }) {
			refusal = refuse(Revoked, "a token of %s was revoked", issuer)
		}
	}
	attested := false
	if refusal == nil {
		attested, refusal = v.signed(u, user)
	}
	// What an attestation vouches for depends on who uses it, so that verdict
	// is not kept.
	if !attested {
		if v.verdicts == nil {
			v.verdicts = make(map[string]*RefusedError)
		}
		v.verdicts[u.cid] = refusal
	}
	return refusal
}

// inTime applies ucanto's bounds: the second of exp is too late, and the second
// of nbf is too early.
func (v *verifier) inTime(u *UCAN) *RefusedError {
	if !u.NoExpiry && u.Expires <= v.now && !v.q.Lapsed {
		return refuse(Expired, "expired at %d", u.Expires)
	}
	if u.NotBefore != 0 && v.now <= u.NotBefore {
		return refuse(NotYetValid, "not valid before %d", u.NotBefore)
	}
	return nil
}

// known asks a set of CIDs for the block and for its twin.
func (*verifier) known(u *UCAN, has func(cid string) bool) bool {
	if has(u.CID()) {
		return true
	}
	twin := u.TwinCID()
	return twin != "" && has(twin)
}

// TwinCID returns the CID of the twin that anybody can make of a block with an
// ECDSA signature: it says the same and verifies as well. It is empty for other
// signatures. Whoever keeps something by a token's CID looks for both.
func (u *UCAN) TwinCID() string {
	twin := did.Mirror(u.signature.alg, []byte(u.signature.raw))
	if twin == nil {
		return ""
	}
	mirrored := *u
	mirrored.signature.framed = frame(u.signature.alg, twin)
	block, err := mirrored.encode()
	if err != nil {
		return ""
	}
	return ipld.CIDText(ipld.SumDagCBOR(block))
}

// signed checks the signature of u with the keys of its issuer. It also tells
// whether an attestation took the signature's place, for good or ill.
func (v *verifier) signed(u, user *UCAN) (attested bool, refusal *RefusedError) {
	switch {
	case v.q.Authority.DID != "" && u.Issuer == v.q.Authority.DID:
		return false, v.verifyWith(u, []did.Key{v.q.Authority.Key})
	case u.Issuer.Method() == "key":
		key, err := did.KeyFromTagged(u.issuer)
		if err != nil {
			return false, &RefusedError{Reason: InvalidSignature, Detail: "issuer's key", cause: err}
		}
		return false, v.verifyWith(u, []did.Key{key})
	}
	if attested, refusal := v.attested(u, user); attested {
		return true, refusal
	}
	keys, refusal := v.resolve(u.Issuer)
	if refusal != nil {
		return u.signature.absent(), refusal
	}
	return false, v.verifyWith(u, keys)
}

// resolve looks the keys of a DID up, which may take a while: a token must not
// make us ask around for minutes.
func (v *verifier) resolve(issuer did.DID) ([]did.Key, *RefusedError) {
	if v.q.Keys == nil {
		return nil, refuse(DIDUnresolved, "no keys for %s", issuer)
	}
	v.resolved = true
	if v.lookups++; v.lookups > MaxLookups {
		return nil, refuse(Malformed, "more than %d DIDs to look up", MaxLookups)
	}
	keys, err := v.q.Keys(issuer)
	if err != nil || len(keys) == 0 {
		return nil, &RefusedError{Reason: DIDUnresolved, Detail: "no keys for " + string(issuer), cause: err}
	}
	return keys, nil
}

func (v *verifier) verifyWith(u *UCAN, keys []did.Key) *RefusedError {
	input := u.signingInput()
	raw := []byte(u.signature.raw)
	for _, key := range keys {
		if v.signatures++; v.signatures > MaxSignatures {
			return refuse(Malformed, "more than %d signatures", MaxSignatures)
		}
		if key.Verify(u.signature.alg, input, raw) {
			return nil
		}
	}
	return refuse(InvalidSignature, "not signed by %s", u.Issuer)
}

// attested looks for the authority's word beside u, among the proofs of its
// user: a ucan/attest delegation to the same audience that names u. The first
// result tells whether there was one, good or bad.
func (v *verifier) attested(u, user *UCAN) (bool, *RefusedError) {
	if user == nil || v.q.Authority.DID == "" {
		return false, nil
	}
	var found *RefusedError
	for _, id := range user.Proofs {
		if id == u.cid {
			continue
		}
		a, refusal := v.proof(id)
		if refusal != nil || !attests(a, u.cid, v.q.Authority.DID) {
			continue
		}
		switch {
		case a.Issuer != v.q.Authority.DID:
			refusal = refuse(InvalidSignature, "attested by %s", a.Issuer)
		case a.Audience != user.Issuer:
			refusal = refuse(BrokenChain, "attestation for %s", a.Audience)
		default:
			refusal = v.check(a, user)
		}
		if refusal == nil {
			return true, nil
		}
		found = worse(found, refusal)
	}
	return found != nil, found
}

// attests reports whether a claims to vouch for the token.
func attests(a *UCAN, token string, authority did.DID) bool {
	if len(a.Capabilities) != 1 {
		return false
	}
	c := a.Capabilities[0]
	proof, _ := c.NB.Get("proof")
	return c.Can == "ucan/attest" && c.With == string(authority) && proof.Kind == ipld.Link && proof.Str == token
}
