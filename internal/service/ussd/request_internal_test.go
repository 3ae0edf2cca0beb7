package ussd

import "testing"

// TestACodeIsKeptWithoutPINs looks at codes as gateways send them.
func TestACodeIsKeptWithoutPINs(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"*2233#": "*2233#", "*38421#": "*38421#", "*384*123#": "*384*123#", "*2233*2*1#": "*2233*2*1#",
		"*2233*2*1*48213#": "*2233*2*1*••••#", "*2233*2*1*4821*1#": "*2233*2*1*••••*1#", "*1*123456*77777#": "*1*••••*••••#",
	} {
		if got := keptCode(code); got != want {
			t.Errorf("%s is kept as %s, want %s", code, got, want)
		}
		if got := keptCode(want); got != want {
			t.Errorf("%s is shown as %s", want, got)
		}
	}
}
