package ussdnumber_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdnumber"
)

// TestACodeIsKeptWithoutPINs looks at codes as gateways send them.
func TestACodeIsKeptWithoutPINs(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"*2233#": "*2233#", "*38421#": "*38421#", "*384*123#": "*384*123#", "*2233*2*1#": "*2233*2*1#",
		"*2233*2*1*48213#": "*2233*2*1*••••#", "*2233*2*1*4821*1#": "*2233*2*1*••••*1#", "*1*123456*77777#": "*1*••••*••••#",
	} {
		if got := ussdnumber.KeptCode(code); got != want {
			t.Errorf("%s is kept as %s, want %s", code, got, want)
		}
		if got := ussdnumber.KeptCode(want); got != want {
			t.Errorf("%s is shown as %s", want, got)
		}
	}
}

// Gateways write one telephone's number in several ways, which become one; what
// is no international number is refused.
func TestTelephoneHasOneSpelling(t *testing.T) {
	t.Parallel()
	const number = "+254700000001"
	for _, text := range []string{number, "254700000001", "00254700000001", " +254700000001 "} {
		if got := ussdnumber.E164(text); got != number || !ussdnumber.ValidPhone(got) {
			t.Errorf("%q is read as %q", text, got)
		}
	}
	for _, text := range []string{
		"", "+", "0700000001", "+0254700000001", "++254700000001", "+254 700 000001", "+254-700-000001", "+(254)700000001",
		"tel:+254700000001", "+254700000001;ext=1", "+２５４700000001", "+254700000001\x00", "+25470000000100000", "000254700000001",
	} {
		if got := ussdnumber.E164(text); ussdnumber.ValidPhone(got) {
			t.Errorf("%q is read as %q", text, got)
		}
	}
}
