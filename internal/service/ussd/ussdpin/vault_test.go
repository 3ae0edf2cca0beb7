package ussdpin

import (
	"bytes"
	"testing"
)

// TestAStoredPINBelongsToItsAccount cannot be copied to another account, and
// does not show who has the same PIN.
func TestAStoredPINBelongsToItsAccount(t *testing.T) {
	t.Parallel()
	keys, err := NewKeys(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	v := NewVault(keys, Cost{Time: 1, MemoryKiB: 8}, 1)
	one, err := v.Seal(t.Context(), "C00000001", "70382")
	if err != nil {
		t.Fatal(err)
	}
	two, err := v.Seal(t.Context(), "C00000001", "70382")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(one, two) {
		t.Error("sealed twice, the PIN looks the same")
	}
	for pin, want := range map[string]bool{"70382": true, "70383": false, "": false} {
		if right, renew, err := v.Check("C00000001", one, pin); right != want || renew || err != nil {
			t.Errorf("%q: %v %v %v", pin, right, renew, err)
		}
	}
	if right, _, err := v.Check("C00000002", one, "70382"); right || err == nil {
		t.Error("the PIN of one account opens another")
	}
	one[len(one)-1] ^= 1
	if right, _, err := v.Check("C00000001", one, "70382"); right || err == nil {
		t.Error("a changed record was taken")
	}
}
