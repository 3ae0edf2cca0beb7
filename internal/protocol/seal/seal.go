// Package seal encrypts content in segments, in the published AES-GCM-HKDF
// streaming format of Tink (AES-256, SHA-256, ciphertext segments of 64 KiB, or of
// 4 KiB for content that is read here and there).
//
// It promises that any Tink can open what it writes, that any range is read
// without decrypting the rest, and that a flipped bit, a cut, a swapped or
// repeated segment and another context (aad) are detected before the bytes are
// handed out. It refuses to open without the plaintext's size: a range that does
// not touch the last segment could not see a cut by itself.
//
// Layout: a header (length 1, salt 32, nonce prefix 7), then segments. The key
// of the content is HKDF-SHA256(key, salt, aad); the nonce of a segment is
// prefix, big-endian 32-bit index, and 1 for the last segment, else 0. The first
// segment is shorter by the header. How long segments are is not written down: both
// lengths, of the content and of its sealed form, say it.
//
// Decision: ADR 0030.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	// KeySize is the length of a key.
	KeySize = 32
	// SegmentSize is the length of a sealed segment, header and tag included.
	SegmentSize = 64 << 10
	// FineSegmentSize is that of content that is read here and there.
	FineSegmentSize = 4 << 10
	// HeaderSize is the length of the header in front of the first segment.
	HeaderSize = 1 + saltSize + prefixSize

	saltSize   = 32
	prefixSize = 7
	tagSize    = 16
	// maxPlain keeps the segment number inside 32 bits, and far below.
	maxPlain = 1 << 46
)

// ErrCorrupt says that sealed content is not what was written: altered, cut,
// swapped, or opened with another key or context.
var ErrCorrupt = errors.New("sealed content is corrupt")

// Key is a secret of one piece of content. It must not be used twice.
type Key [KeySize]byte

// String hides the key from logs.
func (Key) String() string { return "seal.Key(hidden)" }

// GoString hides the key from logs.
func (Key) GoString() string { return "seal.Key(hidden)" }

// NewKey returns a random key.
func NewKey() Key {
	var k Key
	_, _ = rand.Read(k[:]) // never fails: the runtime stops the program instead
	return k
}

// Header is the public beginning of sealed content.
type Header [HeaderSize]byte

// ParseHeader checks the form of a header.
func ParseHeader(b []byte) (Header, error) {
	if len(b) < HeaderSize || b[0] != HeaderSize {
		return Header{}, fmt.Errorf("%w: bad header", ErrCorrupt)
	}
	return Header(b[:HeaderSize]), nil
}

// SealedSize returns the length of plain bytes once sealed.
func SealedSize(plain int64) int64 { return coarse.sealedSize(plain) }

// cut is how long the segments are into which content is cut, header and tag included.
type cut int64

const (
	coarse cut = SegmentSize
	fine   cut = FineSegmentSize
)

// cutOf finds out how content was cut. Content of one segment is the same in both.
func cutOf(plain, sealed int64) (cut, bool) {
	if plain < 0 || plain > maxPlain {
		return 0, false
	}
	for _, c := range []cut{coarse, fine} {
		if c.sealedSize(plain) == sealed {
			return c, true
		}
	}
	return 0, false
}

// plainSize returns how much plaintext a full segment takes.
func (c cut) plainSize(segment int64) int64 {
	if segment == 0 {
		return int64(c) - HeaderSize - tagSize
	}
	return int64(c) - tagSize
}

func (c cut) sealedSize(plain int64) int64 {
	return HeaderSize + plain + c.segments(plain)*tagSize
}

// segments returns how many segments plain bytes take; nothing takes one.
func (c cut) segments(plain int64) int64 {
	if plain <= c.plainSize(0) {
		return 1
	}
	return 1 + (plain-c.plainSize(0)+c.plainSize(1)-1)/c.plainSize(1)
}

// segmentOf returns the segment that holds the plaintext byte at off.
func (c cut) segmentOf(off int64) int64 {
	if off < c.plainSize(0) {
		return 0
	}
	return 1 + (off-c.plainSize(0))/c.plainSize(1)
}

// plainStart returns the plaintext offset of a segment.
func (c cut) plainStart(segment int64) int64 {
	if segment == 0 {
		return 0
	}
	return c.plainSize(0) + (segment-1)*c.plainSize(1)
}

// sealedStart returns the offset of a segment's ciphertext; the first one's
// begins after the header.
func (c cut) sealedStart(segment int64) int64 {
	if segment == 0 {
		return HeaderSize
	}
	return segment * int64(c)
}

// segmentCipher is the AEAD and the nonces of one piece of content.
type segmentCipher struct {
	aead  cipher.AEAD
	nonce [12]byte
}

func newCipher(key Key, aad []byte, h Header) (*segmentCipher, error) {
	derived, err := hkdf.Key(sha256.New, key[:], h[1:1+saltSize], string(aad), KeySize)
	if err != nil {
		return nil, fmt.Errorf("derive content key: %w", err)
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, fmt.Errorf("make cipher: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("make AEAD: %w", err)
	}
	c := &segmentCipher{aead: aead}
	copy(c.nonce[:], h[1+saltSize:])
	return c, nil
}

// at returns the nonce of a segment. It is valid until the next call.
func (c *segmentCipher) at(segment int64, last bool) []byte {
	binary.BigEndian.PutUint32(c.nonce[prefixSize:], uint32(segment)) //nolint:gosec // maxPlain keeps it inside 32 bits
	c.nonce[11] = 0
	if last {
		c.nonce[11] = 1
	}
	return c.nonce[:]
}
