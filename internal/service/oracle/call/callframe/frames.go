package callframe

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
)

// The layout of a sealed frame: clear header, ciphertext with tag, nonce, version.
const (
	frameNonce   = 12
	frameTag     = 16
	frameVersion = 1
	frameTail    = frameNonce + 1
	// FrameOverhead is how much longer a sealed frame is.
	FrameOverhead = frameTag + frameTail
)

var errFrame = errors.New("the frame does not open")

// Keys are the keys of one call's frame layer, one for each direction and
// kind of media. Whoever relays the media has none of them.
type Keys struct {
	OpenAudio, OpenVideo *Opener
	SealAudio, SealVideo *Sealer
}

// OracleKeys derives the keys of a call at the oracle's end.
func OracleKeys(callID string, mine *ecdh.PrivateKey, page *ecdh.PublicKey) (*Keys, error) {
	return deriveKeys(callID, mine, page, page.Bytes(), mine.PublicKey().Bytes(), "oracle", "tab")
}

// PageKeys derives the same keys at the page's end: what one end seals, the
// other opens.
func PageKeys(callID string, mine *ecdh.PrivateKey, oracle *ecdh.PublicKey) (*Keys, error) {
	return deriveKeys(callID, mine, oracle, mine.PublicKey().Bytes(), oracle.Bytes(), "tab", "oracle")
}

func deriveKeys(callID string, mine *ecdh.PrivateKey, theirs *ecdh.PublicKey, page, oracle []byte, we,
	they string,
) (*Keys, error) {
	shared, err := mine.ECDH(theirs) // refuses points of low order
	if err != nil {
		return nil, errAgreementKey
	}
	salt := append(append(make([]byte, 0, len(page)+len(oracle)), page...), oracle...)
	aead := func(direction, kind string) (cipher.AEAD, error) {
		key, err := hkdf.Key(sha256.New, shared, salt, "castalia-frames-v1\n"+callID+"\n"+direction+"\n"+kind, 32)
		if err != nil {
			return nil, fmt.Errorf("derive frame key: %w", err)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, fmt.Errorf("make frame cipher: %w", err)
		}
		return cipher.NewGCM(block)
	}
	var all [4]cipher.AEAD
	for i, name := range [4][2]string{{they, "audio"}, {they, "video"}, {we, "audio"}, {we, "video"}} {
		if all[i], err = aead(name[0], name[1]); err != nil {
			return nil, err
		}
	}
	return &Keys{
		OpenAudio: &Opener{all[0]}, OpenVideo: &Opener{all[1]},
		SealAudio: newSealer(all[2]), SealVideo: newSealer(all[3]),
	}, nil
}

// Opener opens the frames of one direction and kind.
type Opener struct{ aead cipher.AEAD }

// Open returns a frame whose first clear bytes were not sealed.
func (o *Opener) Open(frame []byte, clear int) ([]byte, error) {
	if len(frame) < clear+FrameOverhead || frame[len(frame)-1] != frameVersion {
		return nil, errFrame
	}
	end := len(frame) - frameTail
	nonce := frame[end : end+frameNonce]
	out := make([]byte, clear, end-frameTag)
	copy(out, frame)
	out, err := o.aead.Open(out, nonce, frame[clear:end], frame[:clear])
	if err != nil {
		return nil, errFrame
	}
	return out, nil
}

// Sealer seals the frames of one direction and kind. A nonce is four random
// bytes of this sealer and a counter, so that none comes twice under one key.
type Sealer struct {
	aead    cipher.AEAD
	prefix  [4]byte
	counter atomic.Uint64
}

func newSealer(aead cipher.AEAD) *Sealer {
	s := &Sealer{aead: aead}
	_, _ = rand.Read(s.prefix[:]) // never fails
	return s
}

// Seal returns the frame with everything after its first clear bytes sealed.
func (s *Sealer) Seal(frame []byte, clear int) []byte {
	clear = min(clear, len(frame))
	var nonce [frameNonce]byte
	copy(nonce[:], s.prefix[:])
	binary.BigEndian.PutUint64(nonce[4:], s.counter.Add(1))
	out := make([]byte, clear, len(frame)+FrameOverhead)
	copy(out, frame)
	out = s.aead.Seal(out, nonce[:], frame[clear:], frame[:clear])
	out = append(out, nonce[:]...)
	return append(out, frameVersion)
}

// ClearVP8 is how many bytes of a VP8 frame stay readable: a key frame's header
// or a delta frame's.
func ClearVP8(frame []byte) int {
	switch {
	case len(frame) == 0:
		return 0
	case frame[0]&1 == 0:
		return min(10, len(frame))
	}
	return min(3, len(frame))
}

const (
	// ClearOpus is how many bytes of a page's Opus packet stay readable, as browsers
	// leave them.
	ClearOpus = 1
	// ClearSpoken is how many bytes of what the oracle says do, whatever its codec:
	// no relay has to read any.
	ClearSpoken = 0
)
