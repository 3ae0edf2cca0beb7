// Package sealing hides small secrets that are kept in the database, such as keys
// and tokens of other services.
//
// It promises AES-256-GCM under a key of its own for each purpose, derived from
// the deployment's, and that a secret opens only with the binding with which it
// was sealed: the record, or the address, that it belongs to.
package sealing

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
)

// Sealer seals for one purpose.
type Sealer struct {
	// Key is the deployment's; without one nothing is sealed.
	Key []byte
	// Purpose tells sealers of one deployment apart.
	Purpose string
}

func (s Sealer) aead() (cipher.AEAD, error) {
	if len(s.Key) == 0 {
		return nil, errors.New("this deployment has no key to seal with")
	}
	key, err := hkdf.Key(sha256.New, s.Key, nil, s.Purpose, 32)
	if err != nil {
		return nil, fmt.Errorf("derive sealing key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("make cipher: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Seal hides a secret that belongs to the binding.
func (s Sealer) Seal(plain []byte, binding string) ([]byte, error) {
	aead, err := s.aead()
	if err != nil {
		return nil, err
	}
	return aead.Seal(nil, nil, plain, []byte(binding)), nil //nolint:gosec // this AEAD makes its own random nonce
}

// Unseal returns what was sealed for the binding.
func (s Sealer) Unseal(sealed []byte, binding string) ([]byte, error) {
	aead, err := s.aead()
	if err != nil {
		return nil, err
	}
	plain, err := aead.Open(nil, nil, sealed, []byte(binding))
	if err != nil {
		return nil, errors.New("this was not sealed here, or not for this")
	}
	return plain, nil
}
