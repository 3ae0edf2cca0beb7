package call

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/castalia-org/castalia/internal/protocol/did"
)

// Identity lets a page check whom it talks to.
type Identity struct {
	DID string `json:"did"`
	// PublicKey is the signing key as multibase, KeyID its name in the DID's document.
	PublicKey string `json:"publicKey"`
	KeyID     string `json:"keyId"`
	// Fingerprint is the transport certificate's, Agreement the public half of
	// the X25519 key that frame keys are made with.
	Fingerprint string `json:"fingerprint"`
	Agreement   string `json:"agreement"`
	Signature   string `json:"signature"`
}

// Statement is the text that the oracle signs for a call.
func Statement(callID, oracleDID, fingerprint, agreement string) []byte {
	return fmt.Appendf(nil, "castalia-call-v1\n%s\n%s\n%s\n%s\n", callID, oracleDID, fingerprint, agreement)
}

// identify signs what a page must know of a call. Signatures are deterministic,
// so that any node says the same.
func identify(s did.Signer, r Record) Identity {
	name := string(s.DID())
	key := s.Key().DID().ID()
	return Identity{
		DID: name, PublicKey: key, KeyID: name + "#" + key, Fingerprint: r.Fingerprint, Agreement: r.Agreement,
		Signature: base64.RawURLEncoding.EncodeToString(s.Sign(Statement(r.ID, name, r.Fingerprint, r.Agreement))),
	}
}

// newAgreement makes the X25519 key of a call.
func newAgreement() (*ecdh.PrivateKey, string, error) {
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return nil, "", fmt.Errorf("make agreement key: %w", err)
	}
	return key, base64.RawURLEncoding.EncodeToString(key.PublicKey().Bytes()), nil
}

var errAgreementKey = errors.New("the key must be 32 bytes of X25519 in base64url without padding")

// parseAgreement reads the page's half.
func parseAgreement(text string) (*ecdh.PublicKey, error) {
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
