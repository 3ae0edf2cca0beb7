package ipld

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"
)

// The codecs of blocks in a token.
const (
	CodecRaw     = 0x55
	CodecDagCBOR = 0x71
)

// The binary beginnings of the two CIDs that tokens are made of: version 1,
// codec, sha2-256, 32 bytes.
const (
	prefixDagCBOR = "\x01\x71\x12\x20"
	prefixRaw     = "\x01\x55\x12\x20"
	sha256CIDLen  = 4 + sha256.Size
)

var base32Lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// SumDagCBOR returns the binary CID of a dag-cbor block.
func SumDagCBOR(block string) string { return DagCBORCID(sha256.Sum256([]byte(block))) }

// DagCBORCID returns the binary CID of the dag-cbor block with the digest.
func DagCBORCID(sum [sha256.Size]byte) string { return prefixDagCBOR + string(sum[:]) }

// IsDagCBOR reports whether the binary CID names a dag-cbor block by SHA-256.
func IsDagCBOR(id string) bool { return len(id) == sha256CIDLen && id[:4] == prefixDagCBOR }

// IsRaw reports whether the binary CID names a raw block by SHA-256.
func IsRaw(id string) bool { return len(id) == sha256CIDLen && id[:4] == prefixRaw }

// CheckCID refuses bytes that are not one whole CID.
func CheckCID(id string) error {
	if IsDagCBOR(id) || IsRaw(id) {
		return nil
	}
	if _, err := cid.Cast([]byte(id)); err != nil {
		return fmt.Errorf("%w: link: %w", ErrMalformed, err)
	}
	return nil
}

// CutCID splits the CID at the beginning of a CAR section from the block.
func CutCID(section string) (id, block string, err error) {
	if len(section) >= sha256CIDLen && (section[:4] == prefixDagCBOR || section[:4] == prefixRaw) {
		return section[:sha256CIDLen], section[sha256CIDLen:], nil
	}
	n, _, err := cid.CidFromBytes([]byte(section))
	if err != nil {
		return "", "", fmt.Errorf("%w: block CID: %w", ErrMalformed, err)
	}
	return section[:n], section[n:], nil
}

// Matches reports whether the binary CID is the hash of the block. A hash
// function that is not SHA-256 or identity cannot be checked and is an error.
func Matches(id, block string) (bool, error) {
	if IsDagCBOR(id) || IsRaw(id) {
		var room [1024]byte // most blocks of tokens fit, and cost no copy on the heap
		sum := sha256.Sum256(append(room[:0], block...))
		return id[4:] == string(sum[:]), nil
	}
	c, err := cid.Cast([]byte(id))
	if err != nil {
		return false, fmt.Errorf("%w: block CID: %w", ErrMalformed, err)
	}
	decoded, err := multihash.Decode(c.Hash())
	if err != nil {
		return false, fmt.Errorf("%w: block CID: %w", ErrMalformed, err)
	}
	switch decoded.Code {
	case multihash.SHA2_256:
		sum := sha256.Sum256([]byte(block))
		return string(decoded.Digest) == string(sum[:]), nil
	case multihash.IDENTITY:
		return string(decoded.Digest) == block, nil
	}
	return false, malformed("block CID uses hash function 0x%x", decoded.Code)
}

// CIDText prints a binary CID as ucanto does: base32 for version 1, base58 for
// version 0. It returns "" for bytes that are no CID.
func CIDText(id string) string {
	if IsDagCBOR(id) || IsRaw(id) {
		text := make([]byte, 1+base32Lower.EncodedLen(len(id)))
		text[0] = 'b'
		base32Lower.Encode(text[1:], []byte(id))
		return string(text)
	}
	c, err := cid.Cast([]byte(id))
	if err != nil {
		return ""
	}
	return c.String()
}

// The longest CIDs that are read: one that contains a token, and one in an
// alphabet whose reader needs the square of the length.
const (
	maxCIDText   = 1 << 17
	maxSlowText  = 1 << 10
	slowAlphabet = "zZkKQ9" // base58, base36, CIDv0, base10
)

// ParseCID returns the binary form of a CID written in any multibase.
func ParseCID(text string) (string, error) {
	if len(text) > maxCIDText || len(text) > maxSlowText && strings.IndexByte(slowAlphabet, text[0]) >= 0 {
		return "", malformed("CID of %d characters", len(text))
	}
	c, err := cid.Decode(text)
	if err != nil {
		return "", fmt.Errorf("%w: CID: %w", ErrMalformed, err)
	}
	return string(c.Bytes()), nil
}

// Digest returns the SHA-256 of the block that a CID in any spelling names: the
// one that it carries, or that of the block inside an identity hash.
func Digest(text string) (sum [sha256.Size]byte, err error) {
	id, err := ParseCID(text)
	if err != nil {
		return sum, err
	}
	c, err := cid.Cast([]byte(id))
	if err != nil {
		return sum, fmt.Errorf("%w: CID: %w", ErrMalformed, err)
	}
	decoded, err := multihash.Decode(c.Hash())
	switch {
	case err != nil:
		return sum, fmt.Errorf("%w: CID: %w", ErrMalformed, err)
	case decoded.Code == multihash.SHA2_256 && len(decoded.Digest) == sha256.Size:
		return [sha256.Size]byte(decoded.Digest), nil
	case decoded.Code == multihash.IDENTITY:
		return sha256.Sum256(decoded.Digest), nil
	}
	return sum, malformed("CID uses hash function 0x%x", decoded.Code)
}
