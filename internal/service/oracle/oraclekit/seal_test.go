package oraclekit

import (
	"bytes"
	"testing"
)

func TestSealedSecretsStayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	key := bytes.Repeat([]byte{1}, 32)
	s := sealer{key: key, plugin: "mcp"}
	sealed, err := s.seal([]byte("token"), "alice/server")
	if err != nil || bytes.Contains(sealed, []byte("token")) {
		t.Fatal(err, sealed)
	}
	if plain, err := s.unseal(sealed, "alice/server"); err != nil || string(plain) != "token" {
		t.Errorf("%q %v", plain, err)
	}
	if again, _ := s.seal([]byte("token"), "alice/server"); bytes.Equal(again, sealed) {
		t.Error("the same secret looks the same twice")
	}
	damaged := bytes.Clone(sealed)
	damaged[len(damaged)-1] ^= 1
	for name, open := range map[string]func() ([]byte, error){
		"another record": func() ([]byte, error) { return s.unseal(sealed, "mallory/server") },
		"another plugin": func() ([]byte, error) { return sealer{key: key, plugin: "x"}.unseal(sealed, "alice/server") },
		"another key":    func() ([]byte, error) { return sealer{key: []byte("k"), plugin: "mcp"}.unseal(sealed, "alice/server") },
		"no key":         func() ([]byte, error) { return sealer{plugin: "mcp"}.unseal(sealed, "alice/server") },
		"damaged":        func() ([]byte, error) { return s.unseal(damaged, "alice/server") },
		"cut":            func() ([]byte, error) { return s.unseal(sealed[:5], "alice/server") },
		"nothing":        func() ([]byte, error) { return s.unseal(nil, "alice/server") },
	} {
		if plain, err := open(); err == nil {
			t.Errorf("%s: %q", name, plain)
		}
	}
}
