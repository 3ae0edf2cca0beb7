package ussdhttp

import (
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd"
)

// Gateways write one telephone's number in several ways, which become one; what
// is no international number is refused.
func TestTelephoneHasOneSpelling(t *testing.T) {
	t.Parallel()
	const number = "+254700000001"
	for _, text := range []string{number, "254700000001", "00254700000001", " +254700000001 "} {
		if got := e164(text); got != number || !ussd.ValidPhone(got) {
			t.Errorf("%q is read as %q", text, got)
		}
	}
	for _, text := range []string{
		"", "+", "0700000001", "+0254700000001", "++254700000001", "+254 700 000001", "+254-700-000001", "+(254)700000001",
		"tel:+254700000001", "+254700000001;ext=1", "+２５４700000001", "+254700000001\x00", "+25470000000100000", "000254700000001",
	} {
		if got := e164(text); ussd.ValidPhone(got) {
			t.Errorf("%q is read as %q", text, got)
		}
	}
}
