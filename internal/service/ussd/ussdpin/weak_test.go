package ussdpin_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
)

func TestPINsThatAreTriedFirstAreWeak(t *testing.T) {
	t.Parallel()
	for _, pin := range []string{"11111", "12345", "54321", "90123", "12121", "12312", "11222", "12321", "98765", "123"} {
		if !ussdpin.Weak(pin) {
			t.Errorf("%s passes", pin)
		}
	}
	for _, pin := range []string{"43219", "70382", "19485", "2748", "604815"} {
		if ussdpin.Weak(pin) {
			t.Errorf("%s is refused", pin)
		}
	}
}
