// Package cid computes and names content: the CID of a file or folder as the IPFS
// profile unixfs-v1-2025 defines it (CIDv1, raw leaves of 1 MiB, balanced
// layout with a fan-out of 1024, sha2-256; folders beyond 256 KiB in shards).
//
// It promises the same CID for the same bytes as kubo and boxo, in one
// streaming pass whose memory does not depend on the size, with leaves hashed
// in parallel and a state that can be saved and continued elsewhere. It refuses
// every other setting: a CID of another codec or hash does not parse, because no
// file here can have it.
//
// Decision: ADR 0092.
package cid

import (
	"encoding/base32"
	"errors"
	"fmt"
	"strings"

	gocid "github.com/ipfs/go-cid"
)

// Codec says what the block behind a CID is.
type Codec byte

// The two codecs that occur: a file of at most one leaf is Raw, a larger one is
// the DagPB root of a tree.
const (
	Raw   Codec = 0x55
	DagPB Codec = 0x70
)

const (
	// LeafSize is the length of every leaf but the last.
	LeafSize = 1 << 20
	// Fanout is the largest number of children of a node.
	Fanout = 1024
	// Size is the length of a CID's bytes.
	Size = 36
	// maxText bounds what Parse looks at: the longest multibase form of 36
	// bytes is base2, and nobody writes that.
	maxText = 128
)

// ErrForeign says that a text is no CID, or one that no file here can have.
var ErrForeign = errors.New("not a CID of this store")

// Digest is a SHA-256 value.
type Digest = [32]byte

// CID names content. It is comparable; the zero value names nothing.
type CID struct {
	codec  Codec
	digest Digest
}

// New returns the CID of a block with the digest.
func New(codec Codec, digest Digest) CID { return CID{codec, digest} }

// Parse reads a CID in any multibase form.
func Parse(s string) (CID, error) {
	if len(s) > maxText {
		return CID{}, ErrForeign
	}
	c, err := gocid.Decode(s)
	if err != nil {
		return CID{}, fmt.Errorf("%w: %w", ErrForeign, err)
	}
	return FromBytes(c.Bytes())
}

// FromBytes reads the 36 bytes that Bytes returns.
func FromBytes(b []byte) (CID, error) {
	if len(b) != Size || b[0] != 1 || b[2] != 0x12 || b[3] != 0x20 || (Codec(b[1]) != Raw && Codec(b[1]) != DagPB) {
		return CID{}, ErrForeign
	}
	return CID{Codec(b[1]), Digest(b[4:])}, nil
}

// Codec returns the block's codec.
func (c CID) Codec() Codec { return c.codec }

// Digest returns the block's SHA-256.
func (c CID) Digest() Digest { return c.digest }

// Defined reports whether c names anything.
func (c CID) Defined() bool { return c.codec != 0 }

// Bytes returns the binary form: version, codec, multihash.
func (c CID) Bytes() []byte { return c.append(make([]byte, 0, Size)) }

func (c CID) append(b []byte) []byte {
	b = append(b, 1, byte(c.codec), 0x12, 0x20)
	return append(b, c.digest[:]...)
}

// String returns the canonical text: base32, lower case, prefix b.
func (c CID) String() string {
	if !c.Defined() {
		return ""
	}
	return "b" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(c.Bytes()))
}
