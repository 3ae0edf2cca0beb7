package ucan

import "github.com/castalia-org/castalia/internal/protocol/did"

// Delegation is a token that was checked as a whole tree, without asking for
// any capability.
type Delegation struct {
	// Root is the issuer at the end of the first chain of proofs.
	Root did.DID
	// Links are all tokens of the tree, the leaf first.
	Links    []Link
	Expires  int64
	NoExpiry bool
	CIDs     *CIDSet
	Resolved bool
}

// VerifyDelegation checks a delegation that somebody presents or deposits:
// audience, and for the leaf and every proof in the tree the time bounds, the
// signature, and that it is addressed to the issuer that uses it. It demands no
// capability, and ignores Want, Owner and Seen of the query.
func VerifyDelegation(t *Token, q Query) (Delegation, error) {
	v := verifier{t: t, q: q, now: q.Now.Unix()}
	leaf := t.Leaf
	if q.Audience != "" && leaf.Audience != q.Audience {
		return Delegation{}, refuse(WrongAudience, "addressed to %s", leaf.Audience)
	}
	cids, refusal := v.scopeOf()
	if refusal != nil {
		return Delegation{}, refusal
	}
	if refusal := v.lifetime(leaf); refusal != nil {
		return Delegation{}, refusal
	}
	d := Delegation{Root: v.person(leaf.Issuer), NoExpiry: true, CIDs: cids}
	seen := make(map[string]bool)
	if refusal := v.tree(leaf, nil, &d, seen); refusal != nil {
		return Delegation{}, refusal
	}
	for u := leaf; len(u.Proofs) > 0; {
		p, refusal := v.proof(u.Proofs[0])
		if refusal != nil {
			return Delegation{}, refusal
		}
		u, d.Root = p, v.person(p.Issuer)
	}
	d.Resolved = v.resolved
	return d, nil
}

// tree checks u and, once each, the proofs below it. The depth of the tree was
// bounded by scopeOf.
func (v *verifier) tree(u, user *UCAN, d *Delegation, seen map[string]bool) *RefusedError {
	if refusal := v.check(u, user); refusal != nil {
		return refusal
	}
	d.Links = append(d.Links, v.linkOf(u))
	if !u.NoExpiry && (d.NoExpiry || u.Expires < d.Expires) {
		d.NoExpiry, d.Expires = false, u.Expires
	}
	for _, id := range u.Proofs {
		p, refusal := v.proof(id)
		if refusal != nil {
			return refusal
		}
		if v.person(p.Audience) != v.person(u.Issuer) && !v.sameKey(p.Audience, u.Issuer) {
			return refuse(BrokenChain, "a proof for %s is used by %s", p.Audience, u.Issuer)
		}
		if seen[id] {
			continue
		}
		seen[id] = true
		if refusal := v.tree(p, u, d, seen); refusal != nil {
			return refusal
		}
	}
	return nil
}

// sameKey reports whether the audience is the did:key of one of the issuer's
// keys: wallets address a delegation to the key and sign with the DID.
func (v *verifier) sameKey(audience, issuer did.DID) bool {
	if audience.Method() != "key" || issuer.Method() == "key" {
		return false
	}
	keys, refusal := v.resolve(issuer)
	if refusal != nil {
		return false
	}
	for _, key := range keys {
		if key.DID() == audience {
			return true
		}
	}
	return false
}
