package ucan

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
)

// Signer signs tokens under a DID; did.Signer is one.
type Signer interface {
	DID() did.DID
	Algorithm() did.Algorithm
	Sign(message []byte) []byte
}

// Statement is what a new token says.
type Statement struct {
	Audience     did.DID
	Capabilities []Capability
	// Expires of zero never expires.
	Expires   time.Time
	NotBefore time.Time // zero: at once
	Nonce     string
	Facts     []ipld.Node
	Proofs    []*Token
}

// NewCapability returns a capability; nb is a map, or the zero Node for none.
func NewCapability(can, with string, nb ipld.Node) Capability {
	can = strings.ToLower(can)
	entries := []ipld.Entry{{Key: "can", Value: ipld.TextNode(can)}, {Key: "with", Value: ipld.TextNode(with)}}
	if nb.Kind != ipld.Null {
		entries = append(entries, ipld.Entry{Key: "nb", Value: nb})
	}
	return Capability{Can: can, With: with, NB: nb, node: ipld.MapNode(entries...)}
}

// Issue signs a statement. It refuses what no reader would accept (an ability
// without a slash, a resource that is not a URL), and nothing else: whether the
// proofs support the statement is for the verifier to say.
func Issue(signer Signer, s Statement) (*Token, error) {
	u := &UCAN{
		Issuer: signer.DID(), Audience: s.Audience, Nonce: s.Nonce, Facts: s.Facts, Capabilities: s.Capabilities,
		NoExpiry: s.Expires.IsZero(), signature: signature{alg: signer.Algorithm()},
	}
	for _, c := range s.Capabilities {
		if err := issuable(c); err != nil {
			return nil, err
		}
	}
	if !u.NoExpiry {
		u.Expires = s.Expires.Unix()
	}
	if !s.NotBefore.IsZero() {
		u.NotBefore = s.NotBefore.Unix()
	}
	blocks := make(map[string]string)
	for _, p := range s.Proofs {
		u.Proofs = append(u.Proofs, p.Leaf.cid)
		blocks[p.Leaf.cid] = p.leafBlock
		maps.Copy(blocks, p.blocks)
	}
	var err error
	if u.issuer, err = u.Issuer.Bytes(); err != nil {
		return nil, fmt.Errorf("issuer: %w", err)
	}
	if _, err = u.Audience.Bytes(); err != nil {
		return nil, fmt.Errorf("audience: %w", err)
	}
	raw := signer.Sign(u.signingInput())
	u.signature.raw, u.signature.framed = string(raw), frame(signer.Algorithm(), raw)
	block, err := u.encode()
	if err != nil {
		return nil, err
	}
	// Reading it back makes sure that nobody is handed a token that cannot be read.
	u, err = decodeBlock(ipld.SumDagCBOR(block), block)
	if err != nil {
		return nil, fmt.Errorf("read back: %w", err)
	}
	return &Token{Leaf: u, leafBlock: block, blocks: blocks}, nil
}

func issuable(c Capability) error {
	if !validAbility(c.Can) {
		return refuse(Malformed, "ability %q: want * or a name with a slash inside", c.Can)
	}
	r, err := ParseResource(c.With)
	if err != nil {
		return err
	}
	if r.bare {
		return refuse(Malformed, "resource %q is not a URL: write vfs://did%%3A… or vfs:///did:…", clip(c.With))
	}
	if c.NB.Kind != ipld.Null && c.NB.Kind != ipld.Map {
		return refuse(MalformedCapability, "nb is %s, want a map", c.NB.Kind)
	}
	if c.node.Kind != ipld.Map {
		return refuse(Malformed, "capability was not made by NewCapability")
	}
	return nil
}
