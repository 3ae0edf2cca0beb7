package ipld

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"
)

// The codecs of blocks in a token.
const (
	CodecRaw     = 0x55
	CodecDagCBOR = 0x71
	CodecCAR     = 0x0202
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
func SumDagCBOR(block string) string {
	sum := sha256.Sum256([]byte(block))
	return prefixDagCBOR + string(sum[:])
}

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

// ParseCID returns the binary form of a CID written in any multibase.
func ParseCID(text string) (string, error) {
	c, err := cid.Decode(text)
	if err != nil {
		return "", fmt.Errorf("%w: CID: %w", ErrMalformed, err)
	}
	return string(c.Bytes()), nil
}
