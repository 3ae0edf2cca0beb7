package call

import (
	"encoding/base64"
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
