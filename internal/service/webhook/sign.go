package webhook

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/seal"
)

// The headers of Standard Webhooks.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

// SecretPrefix begins every secret as people see it.
const SecretPrefix = "whsec_"

const secretBytes = 32

// Secret signs what is sent to an endpoint.
type Secret [secretBytes]byte

func newSecret() (s Secret) {
	_, _ = rand.Read(s[:]) // never fails
	return s
}

// Reveal writes a secret for its owner, who sees it once.
func (s Secret) Reveal() string { return SecretPrefix + base64.StdEncoding.EncodeToString(s[:]) }

// String hides the secret.
func (Secret) String() string { return "webhook.Secret(hidden)" }

// GoString hides the secret.
func (Secret) GoString() string { return "webhook.Secret(hidden)" }

// Sign returns the value of webhook-signature: one signature for each secret.
func Sign(secrets []Secret, id string, at time.Time, body []byte) string {
	var all []string
	for _, s := range secrets {
		mac := hmac.New(sha256.New, s[:])
		mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
		mac.Write(body)
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(all, " ")
}

// vault seals secrets, each for its endpoint alone.
type vault struct{ key seal.Key }

func newVault(key []byte) (vault, error) {
	if len(key) == 0 {
		return vault{}, errors.New("webhook: there is no key to seal secrets with")
	}
	derived, err := hkdf.Key(sha256.New, key, nil, "castalia webhook secrets", seal.KeySize)
	if err != nil {
		return vault{}, fmt.Errorf("derive key for webhook secrets: %w", err)
	}
	return vault{seal.Key(derived)}, nil
}

func (v vault) seal(endpoint string, s Secret) ([]byte, error) {
	_, sealed, err := seal.Bytes(s[:], v.key, []byte(endpoint))
	if err != nil {
		return nil, fmt.Errorf("seal webhook secret: %w", err)
	}
	return sealed, nil
}

func (v vault) open(endpoint string, sealed []byte) (s Secret, err error) {
	plain, err := seal.Open(sealed, v.key, []byte(endpoint), secretBytes)
	if err != nil {
		return s, fmt.Errorf("open webhook secret: %w", err)
	}
	copy(s[:], plain)
	return s, nil
}
