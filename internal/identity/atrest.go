package identity

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/castalia-org/castalia/internal/protocol/did"
)

// A delegation to this service is a login when it comes alone, so that a copy of the
// database must not be a bunch of them: each is sealed for its user under a key that
// only the service's own key derives. Under another key they are unreadable, and have to
// be given anew; those to a DID that goes with the old key are void then anyway.

const (
	// sealedMark begins what is sealed; no token begins so. Without it a row is of a
	// release that kept them in clear.
	sealedMark = "sealed1."
	sealLabel  = "castalia delegations at rest v1"
)

// restKey derives the key: the signature is made again by who has the service's key,
// and nobody is ever given one over this label.
func restKey(s did.Signer) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, s.Sign([]byte(sealLabel)), nil, sealLabel, 32)
	if err != nil {
		return nil, fmt.Errorf("derive key of delegations: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("make cipher of delegations: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// sealRaw hides a token that the database keeps for a user.
func (s *Service) sealRaw(user, raw string) string {
	sealed := s.rest.Seal(nil, nil, []byte(raw), []byte(user)) //nolint:gosec // this AEAD makes its own random nonce
	return sealedMark + base64.RawURLEncoding.EncodeToString(sealed)
}

// openRaw returns the token that was kept for a user.
func (s *Service) openRaw(user, kept string) (string, error) {
	text, sealed := strings.CutPrefix(kept, sealedMark)
	if !sealed {
		return kept, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return "", fmt.Errorf("decode delegation: %w", err)
	}
	raw, err := s.rest.Open(nil, nil, data, []byte(user))
	if err != nil {
		return "", errors.New("the delegation was not sealed here, or not for this user")
	}
	return string(raw), nil
}
