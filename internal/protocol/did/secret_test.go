package did_test

import (
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/did"
)

func TestSecretsAreKnown(t *testing.T) {
	t.Parallel()
	signer, err := did.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	phrase := "legal winner thank year wave sausage worth useful legal winner thank yellow"
	for _, text := range []string{
		signer.PrivateText() + "\n", signer.SeedText(), "1. " + strings.Join(signer.Words(), "\n2. "),
		strings.Repeat("0f", 32), phrase, strings.ReplaceAll(phrase, " ", "\n"),
		"My key:\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\n-----END OPENSSH PRIVATE KEY-----",
		"-----BEGIN PRIVATE KEY-----\nMC4CAQ", "AGE-SECRET-KEY-1QQPQQPQQPQQPQQPQQPQQPQQPQQPQQPQQPQQPQQPQQPQQPQQPQQ",
	} {
		if !did.HoldsSecret(text) {
			t.Errorf("%.40q passes", text)
		}
	}
	for _, text := range []string{
		"", "The goats are fed at six in the morning and at six in the evening by whoever has the duty of the day.",
		"Goats: fed at six, and then again at six in the evening.", "one two three", signer.DID().String(),
		"1 2 3 4 5 6 7 8 9 10 11 12", "-----BEGIN CERTIFICATE-----", strings.Repeat("word ", 12*40),
	} {
		if did.HoldsSecret(text) {
			t.Errorf("%.40q is taken for a key", text)
		}
	}
}
