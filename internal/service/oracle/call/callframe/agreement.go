package callframe

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
)

// NewAgreement makes the X25519 key of a call.
func NewAgreement() (*ecdh.PrivateKey, string, error) {
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return nil, "", fmt.Errorf("make agreement key: %w", err)
	}
	return key, base64.RawURLEncoding.EncodeToString(key.PublicKey().Bytes()), nil
}

var errAgreementKey = errors.New("the key must be 32 bytes of X25519 in base64url without padding")

// ParseAgreement reads the page's half.
func ParseAgreement(text string) (*ecdh.PublicKey, error) {
	data, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(data) != 32 {
		return nil, errAgreementKey
	}
	key, err := ecdh.X25519().NewPublicKey(data)
	if err != nil {
		return nil, errAgreementKey
	}
	return key, nil
}
