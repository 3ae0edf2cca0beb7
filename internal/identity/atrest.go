package identity

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/sealing"
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

// sealerOf seals delegations: the signature is made again by who has the service's
// key, and nobody is ever given one over this label.
func sealerOf(s did.Signer) sealing.Sealer {
	return sealing.Sealer{Key: s.Sign([]byte(sealLabel)), Purpose: sealLabel}
}

// sealRaw hides a token that the database keeps for a user.
func (s *Service) sealRaw(user, raw string) (string, error) {
	sealed, err := s.sealer.Seal([]byte(raw), user)
	if err != nil {
		return "", fmt.Errorf("seal delegation: %w", err)
	}
	return sealedMark + base64.RawURLEncoding.EncodeToString(sealed), nil
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
	raw, err := s.sealer.Unseal(data, user)
	if err != nil {
		return "", fmt.Errorf("open delegation: %w", err)
	}
	return string(raw), nil
}
