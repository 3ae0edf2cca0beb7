package ussdtest_test

import (
	"encoding/base64"
	"encoding/hex"
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

// The search finds what it looks for.
func TestLeakFindsSecrets(t *testing.T) {
	t.Parallel()
	const pin = "70382"
	for _, text := range []string{"70382", "2*1*70382*1", `"pin":"70382"`, "text=2%2A1%2A70382&x", hex.EncodeToString([]byte("x70382"))} {
		if ussdtest.Leak(text, pin) == "" {
			t.Errorf("not found in %q", text)
		}
	}
	for _, before := range []string{"", "a", "ab", "abc", "2*1*"} {
		if coded := base64.StdEncoding.EncodeToString([]byte(before + pin + "*00")); ussdtest.Leak(coded, pin) == "" {
			t.Errorf("not found behind %q in %s", before, coded)
		}
	}
	for _, text := range []string{"", "7038", "170382", "2026-11-15T10:00:00.70382Z", "C70382AB", "1763245070382"} {
		if found := ussdtest.Leak(text, pin); found != "" {
			t.Errorf("found by chance in %q", text)
		}
	}
}
