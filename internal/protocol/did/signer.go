package did

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Signer is an Ed25519 key pair that issues tokens under a DID: its own
// did:key, or another DID whose document lists the key.
type Signer struct {
	private ed25519.PrivateKey
	key     Key
	name    DID
}

// NewSigner makes a fresh key.
func NewSigner() (Signer, error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := rand.Read(seed); err != nil {
		return Signer{}, fmt.Errorf("read random seed: %w", err)
	}
	return SignerFromSeed(seed)
}

// SignerFromSeed makes the key of a 32-byte seed.
func SignerFromSeed(seed []byte) (Signer, error) {
	if len(seed) != ed25519.SeedSize {
		return Signer{}, fmt.Errorf("ed25519 seed has %d bytes, want %d", len(seed), ed25519.SeedSize)
	}
	private := ed25519.NewKeyFromSeed(seed)
	key, err := KeyFromEd25519(private[ed25519.SeedSize:])
	if err != nil {
		return Signer{}, err
	}
	return Signer{private: private, key: key, name: key.DID()}, nil
}

// SignerFromMnemonic makes the key that IXO wallets derive from a BIP-39
// phrase: the seed is the SHA-256 of the phrase without surrounding space.
func SignerFromMnemonic(phrase string) (Signer, error) {
	trimmed := strings.TrimSpace(phrase)
	if trimmed == "" {
		return Signer{}, errors.New("mnemonic is empty")
	}
	seed := sha256.Sum256([]byte(trimmed))
	return SignerFromSeed(seed[:])
}

// The private-key text of ucanto: "M" and the base64 of both tagged halves.
const (
	privateTag = "\x80\x26"
	publicTag  = "\xed\x01"
)

// ParseSigner reads a private key: ucanto's text (M…), 64 hexadecimal digits
// of a seed, or base64 of a seed.
func ParseSigner(text string) (Signer, error) {
	text = strings.TrimSpace(text)
	if raw, err := hex.DecodeString(text); err == nil && len(raw) == ed25519.SeedSize {
		return SignerFromSeed(raw)
	}
	if encoded, ok := strings.CutPrefix(text, "M"); ok {
		if s, err := parsePrivate(encoded); err == nil {
			return s, nil
		}
	}
	if raw, err := base64.StdEncoding.DecodeString(text); err == nil && len(raw) == ed25519.SeedSize {
		return SignerFromSeed(raw)
	}
	// The text is a secret: it is never part of the error.
	return Signer{}, errors.New("not a private key: want M…, 64 hexadecimal digits, or base64 of 32 bytes")
}

func parsePrivate(encoded string) (Signer, error) {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(raw) != 68 || string(raw[:2]) != privateTag || string(raw[34:36]) != publicTag {
		return Signer{}, errors.New("not an Ed25519 key pair")
	}
	s, err := SignerFromSeed(raw[2:34])
	if err != nil {
		return Signer{}, err
	}
	if !bytes.Equal(raw[36:], s.private[ed25519.SeedSize:]) {
		return Signer{}, errors.New("public half does not belong to the seed")
	}
	return s, nil
}

// As returns the same key signing under another DID.
func (s Signer) As(name DID) Signer {
	s.name = name
	return s
}

// DID returns the name under which the signer issues.
func (s Signer) DID() DID { return s.name }

// Key returns the public half.
func (s Signer) Key() Key { return s.key }

// Algorithm returns the code of the signatures that Sign makes.
func (Signer) Algorithm() Algorithm { return EdDSA }

// Sign signs the message.
func (s Signer) Sign(message []byte) []byte { return ed25519.Sign(s.private, message) }

// PrivateText returns the secret in ucanto's text form.
func (s Signer) PrivateText() string {
	raw := privateTag + string(s.private[:ed25519.SeedSize]) + publicTag + string(s.private[ed25519.SeedSize:])
	return "M" + base64.StdEncoding.EncodeToString([]byte(raw))
}

// SeedText returns the secret as 64 hexadecimal digits: what the console shows and takes, and what
// the QR code of a key holds.
func (s Signer) SeedText() string { return hex.EncodeToString(s.private.Seed()) }

// String returns the DID, so that a signer in a log shows no secret.
func (s Signer) String() string { return string(s.name) }

// GoString is String, for %#v.
func (s Signer) GoString() string { return "did.Signer(" + string(s.name) + ")" }
