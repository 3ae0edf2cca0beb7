package ucan

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
)

// RevokeAbility is claimed by an invocation that withdraws a token.
const RevokeAbility = "ucan/revoke"

// NewRevocation returns the capability with which signer withdraws a token that
// it issued, or that a token in its chain issued.
func NewRevocation(signer did.DID, revoked *Token) Capability {
	return NewCapability(RevokeAbility, string(signer), ipld.MapNode(
		ipld.Entry{Key: "ucan", Value: ipld.LinkNode(revoked.Leaf.cid)},
	))
}

// NewIssuerRevocation returns the capability with which signer withdraws
// everything that a DID ever issued, for a key that got into wrong hands: its
// own, or any when signer is the authority.
func NewIssuerRevocation(signer, revoked did.DID) Capability {
	return NewCapability(RevokeAbility, string(signer), ipld.MapNode(
		ipld.Entry{Key: "issuer", Value: ipld.TextNode(string(revoked))},
	))
}

// Withdrawn is what a revocation is about: a token, or everything of an issuer.
type Withdrawn struct {
	Token  *UCAN // nil: everything of Issuer
	Issuer did.DID
}

// RevocationTarget returns what a verified ucan/revoke invocation withdraws: a
// token in whose chain its issuer has signed, or all of the issuer's own DID.
// The revoked token travels among the invocation's blocks, so that the chain
// can be seen; nobody withdraws a token of strangers, but for the authority
// that runs the service.
func RevocationTarget(t *Token, authority did.DID) (Withdrawn, error) {
	by := t.Leaf.Issuer
	for _, c := range t.Leaf.Capabilities {
		if c.Can != RevokeAbility || c.With != string(by) {
			continue
		}
		if issuer, ok := c.NB.Get("issuer"); ok {
			return issuerTarget(issuer, by, authority)
		}
		link, ok := c.NB.Get("ucan")
		if !ok || link.Kind != ipld.Link {
			return Withdrawn{}, refuse(MalformedCapability, "nb.ucan is not a link")
		}
		u, found, err := t.Proof(link.Str)
		if err != nil || !found {
			return Withdrawn{}, refuse(MissingProof, "the revoked token did not come along")
		}
		for _, l := range t.linksFrom(u) {
			if l.Issuer == by || by == authority {
				return Withdrawn{Token: u, Issuer: u.Issuer}, nil
			}
		}
		return Withdrawn{}, refuse(UnauthorizedRoot, "%s is no issuer of the token", by)
	}
	return Withdrawn{}, refuse(AbilityMismatch, "no %s capability", RevokeAbility)
}

func issuerTarget(issuer ipld.Node, by, authority did.DID) (Withdrawn, error) {
	revoked, err := did.Parse(issuer.Str)
	if issuer.Kind != ipld.Text || err != nil {
		return Withdrawn{}, refuse(MalformedCapability, "nb.issuer is not a DID")
	}
	if revoked != by && by != authority {
		return Withdrawn{}, refuse(UnauthorizedRoot, "%s is not %s", by, revoked)
	}
	return Withdrawn{Issuer: revoked}, nil
}

// Links lists the leaf and all proofs that are at hand, without judging them.
func (t *Token) Links() []Link { return t.linksFrom(t.Leaf) }

func (t *Token) linksFrom(u *UCAN) []Link {
	links := []Link{linkOf(u)}
	seen := map[string]bool{u.cid: true}
	level := []*UCAN{u}
	for len(level) > 0 && len(links) < MaxBlocks {
		var next []*UCAN
		for _, u := range level {
			for _, id := range u.Proofs {
				if seen[id] {
					continue
				}
				seen[id] = true
				p, found, err := t.Proof(id)
				if err != nil || !found {
					continue
				}
				links = append(links, linkOf(p))
				next = append(next, p)
			}
		}
		level = next
	}
	return links
}

// StatementHash names what the leaf's issuer signed, in hexadecimal. Unlike the
// CID it is the same for every signature of one statement, so single-use marks
// are kept under it.
func (t *Token) StatementHash() string {
	sum := sha256.Sum256(append(t.Leaf.signingInput(), t.Leaf.issuer...))
	return hex.EncodeToString(sum[:])
}
