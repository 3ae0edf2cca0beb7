package oraclekit

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
)

// sealer hides a plugin's secrets with AES-256-GCM, under a key of its own that
// comes from the deployment's. The binding is authenticated with them.
type sealer struct {
	key    []byte
	plugin string
}

func (s sealer) aead() (cipher.AEAD, error) {
	if len(s.key) == 0 {
		return nil, errors.New("this deployment has no key to seal with")
	}
	key, err := hkdf.Key(sha256.New, s.key, nil, "castalia plugin "+s.plugin, 32)
	if err != nil {
		return nil, fmt.Errorf("derive sealing key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("make cipher: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func (s sealer) seal(plain []byte, binding string) ([]byte, error) {
	aead, err := s.aead()
	if err != nil {
		return nil, err
	}
	return aead.Seal(nil, nil, plain, []byte(binding)), nil //nolint:gosec // this AEAD makes its own random nonce
}

func (s sealer) unseal(sealed []byte, binding string) ([]byte, error) {
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
