package seal_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/seal"
)

// The format is a promise: what was sealed once opens for ever.
func TestVector(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../../spec/vectors/seal.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct{ NamespaceKey, WrappedKeyData, WrappedKey, ContentKey, AssociatedData, Sealed, Plaintext string }
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	bytes := func(text string) []byte {
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	key, err := seal.Unwrap(seal.Key(bytes(v.NamespaceKey)), bytes(v.WrappedKey), []byte(v.WrappedKeyData))
	if err != nil || key != seal.Key(bytes(v.ContentKey)) {
		t.Fatalf("unwrap: %v", err)
	}
	plain, err := seal.Open(bytes(v.Sealed), key, []byte(v.AssociatedData), int64(len(v.Plaintext)))
	if err != nil || string(plain) != v.Plaintext {
		t.Errorf("open: %q, %v", plain, err)
	}
}
