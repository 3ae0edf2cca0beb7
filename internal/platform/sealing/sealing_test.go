package sealing_test

import (
	"bytes"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sealing"
)

func TestSealedSecretsStayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	key := bytes.Repeat([]byte{1}, 32)
	s := sealing.Sealer{Key: key, Purpose: "mcp"}
	sealed, err := s.Seal([]byte("token"), "alice/server")
	if err != nil || bytes.Contains(sealed, []byte("token")) {
		t.Fatal(err, sealed)
	}
	if plain, err := s.Unseal(sealed, "alice/server"); err != nil || string(plain) != "token" {
		t.Errorf("%q %v", plain, err)
	}
	if again, _ := s.Seal([]byte("token"), "alice/server"); bytes.Equal(again, sealed) {
		t.Error("the same secret looks the same twice")
	}
	damaged := bytes.Clone(sealed)
	damaged[len(damaged)-1] ^= 1
	for name, open := range map[string]func() ([]byte, error){
		"another record":  func() ([]byte, error) { return s.Unseal(sealed, "mallory/server") },
		"another purpose": func() ([]byte, error) { return sealing.Sealer{Key: key, Purpose: "x"}.Unseal(sealed, "alice/server") },
		"another key": func() ([]byte, error) {
			return sealing.Sealer{Key: []byte("k"), Purpose: "mcp"}.Unseal(sealed, "alice/server")
		},
		"no key":  func() ([]byte, error) { return sealing.Sealer{Purpose: "mcp"}.Unseal(sealed, "alice/server") },
		"damaged": func() ([]byte, error) { return s.Unseal(damaged, "alice/server") },
		"cut":     func() ([]byte, error) { return s.Unseal(sealed[:5], "alice/server") },
		"nothing": func() ([]byte, error) { return s.Unseal(nil, "alice/server") },
	} {
		if plain, err := open(); err == nil {
			t.Errorf("%s: %q", name, plain)
		}
	}
}
