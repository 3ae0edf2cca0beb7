// Package ucan implements UCAN 0.9.1 as ucanto writes it: dag-cbor blocks in a
// CAR, signed over the JWT text that the block stands for.
//
// It parses tokens from hostile hands, verifies them, and issues new ones that
// ucanto accepts. Verification is a pure function of the token and a Query:
// time, DID keys, owners of resources and revocations are arguments. It checks
// more than ucanto does: every block's hash, the one canonical form of every
// block, the one CID that a block may be followed under (version 1, dag-cbor, or
// raw for JWT text, sha2-256), each signature at most once, and the capability
// that was authorised instead of the first one. Everything is bounded (size, blocks, depth,
// capabilities, signature checks), and no input makes it panic.
//
// Decisions: ADR 0025, ADR 0026, ADR 0029.
package ucan

import (
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
)

// Version is the only format version that is read or written.
const Version = "0.9.1"

// Bounds on one token; a token beyond them is malformed.
const (
	MaxBytes        = 64 << 10 // of the archive
	MaxBlocks       = 128
	MaxDepth        = 16 // proofs below the leaf
	MaxCapabilities = 64 // in one block
	MaxProofs       = 32 // named by one block
	MaxSignatures   = 48 // checked for one token
	MaxLookups      = 8  // of DIDs that are not did:key
	maxSteps        = 4096
)

// Capability is one statement of a token: what may be done with which resource.
type Capability struct {
	Can  string
	With string
	// NB holds the caveats: a map, or Null when there are none.
	NB ipld.Node
	// node is the capability as it was signed, with fields that we do not know.
	node ipld.Node
}

// UCAN is one decoded block.
type UCAN struct {
	Issuer       did.DID
	Audience     did.DID
	Capabilities []Capability
	// Expires is in Unix seconds; NoExpiry marks null, which never expires.
	Expires   int64
	NoExpiry  bool
	NotBefore int64 // 0: none
	Nonce     string
	Facts     []ipld.Node
	Proofs    []string // binary CIDs

	cid       string // binary, under which the block travels
	canonical string // binary, of the dag-cbor form when it travels as a JWT
	issuer    string // as bytes in the block
	signature signature
}

// CID returns the text of the CID that names the token: that of its dag-cbor
// block, in whatever form it travels, so that one statement has one name and a
// revocation cannot be dodged by writing it as a JWT.
func (u *UCAN) CID() string {
	if u.canonical != "" {
		return ipld.CIDText(u.canonical)
	}
	return ipld.CIDText(u.cid)
}

// Algorithm returns the name of the signature's algorithm, as in a JWT.
func (u *UCAN) Algorithm() string { return u.signature.algorithmName() }

// Token is a leaf with the blocks that came along.
type Token struct {
	Leaf *UCAN

	leafBlock string
	blocks    map[string]string // by binary CID, without the leaf
}

// CID returns the text of the leaf's CID.
func (t *Token) CID() string { return t.Leaf.CID() }

// Proof returns the block of a proof by its binary CID, and false when it did
// not travel with the token.
func (t *Token) Proof(id string) (*UCAN, bool, error) {
	block, ok := t.blocks[id]
	if !ok {
		return nil, false, nil
	}
	u, err := decodeProof(id, block)
	return u, true, err
}
