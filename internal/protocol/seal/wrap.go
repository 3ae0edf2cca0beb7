package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"fmt"
)

// WrappedSize is the length of a wrapped key.
const WrappedSize = 12 + KeySize + tagSize

// Wrap encrypts key under outer with AES-256-GCM and a random nonce. aad binds
// the wrapped key to its place.
func Wrap(outer, key Key, aad []byte) ([]byte, error) {
	aead, err := wrapper(outer)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, 12, WrappedSize)
	_, _ = rand.Read(nonce) // never fails
	return aead.Seal(nonce, nonce, key[:], aad), nil
}

// Unwrap reverses Wrap. A wrong outer key, another aad and altered bytes give ErrCorrupt.
func Unwrap(outer Key, wrapped, aad []byte) (Key, error) {
	if len(wrapped) != WrappedSize {
		return Key{}, fmt.Errorf("%w: wrapped key of %d bytes", ErrCorrupt, len(wrapped))
	}
	aead, err := wrapper(outer)
	if err != nil {
		return Key{}, err
	}
	plain, err := aead.Open(nil, wrapped[:12], wrapped[12:], aad)
	if err != nil {
		return Key{}, fmt.Errorf("%w: wrapped key", ErrCorrupt)
	}
	return Key(plain), nil
}

func wrapper(outer Key) (cipher.AEAD, error) {
	block, err := aes.NewCipher(outer[:])
	if err != nil {
		return nil, fmt.Errorf("make cipher: %w", err)
	}
	return cipher.NewGCM(block)
}
