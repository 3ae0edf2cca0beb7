package did_test

import (
	"bytes"
	"encoding/hex"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/did"
)

// A host that is written otherwise leads to the same document and the same keys,
// so a did:web is read in one spelling alone.
func TestDIDHasOneSpelling(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"did:web:example.com":                             true,
		"did:web:example.com%3A8080":                      true,
		"did:web:example.com%3A8080:a:b":                  true,
		"did:web:example.com:user:Alice_1.~":              true,
		"did:web:xn--bcher-kva.example":                   true,
		"did:web:127.0.0.1%3A3000":                        true,
		"did:web:localhost%3A3000":                        true,
		"did:web:example.com:a%20b":                       true,
		"did:ixo:ixo1abc":                                 true,
		"did:ixo:entity:2f22535f8b179a51d77a0e302e68d35d": true,

		"did:web:Example.com":            false,
		"did:web:example.com.":           false,
		"did:web:.example.com":           false,
		"did:web:example..com":           false,
		"did:web:ex%61mple.com":          false,
		"did:web:example.com%3a8080":     false,
		"did:web:example.com%3A443":      false,
		"did:web:example.com%3A08080":    false,
		"did:web:example.com%3A":         false,
		"did:web:example.com%3A0":        false,
		"did:web:example.com%3A65536":    false,
		"did:web:example.com%3A8080%3A1": false,
		"did:web:bücher.example":         false,
		"did:web:user%40example.com":     false,
		"did:web:example.com%2Fa":        false,
		"did:web:example.com:":           false,
		"did:web:example.com::a":         false,
		"did:web:example.com:%61":        false,
		"did:web:example.com:a%2fb":      false,
		"did:web:example.com:a%2Fb":      false,
		"did:web:example.com:a%":         false,
		"did:web:example.com:..":         false,
		"did:web:example.com:%2E%2E":     false,
		"did:web:example.com:a b":        false,
		"DID:web:example.com":            false,
		"did:WEB:example.com":            false,
		" did:web:example.com":           false,
		"did:web:example.com#key":        false,
		"did:web:example.com?x=1":        false,
	} {
		if _, err := did.Parse(text); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
		raw := "\x9d\x1a" + strings.TrimPrefix(text, "did:")
		if d, err := did.FromBytes(raw); ok && (err != nil || string(d) != text) || !ok && err == nil && string(d) == text {
			t.Errorf("%s as bytes: %s, %v", text, d, err)
		}
	}
}

// A point of Ed25519 has one encoding, and a key whose signatures anybody can
// make is no key.
func TestKeyHasOneSpelling(t *testing.T) {
	t.Parallel()
	signer, err := did.SignerFromSeed(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	good, err := signer.DID().Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := did.KeyFromTagged(good); err != nil {
		t.Error(err)
	}
	p := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	bad := map[string][]byte{}
	for i := range int64(19) { // y and y + p
		bad["beyond the field "+string(rune('a'+i))] = littleEndian(new(big.Int).Add(p, big.NewInt(i)))
	}
	for name, text := range map[string]string{
		"order 1": "0100000000000000000000000000000000000000000000000000000000000000",
		"order 2": "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"order 4": "0000000000000000000000000000000000000000000000000000000000000000",
		"order 8": "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"again 8": "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
	} {
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		bad[name] = b
	}
	for name, raw := range bad {
		for _, sign := range []byte{0, 0x80} {
			other := slices.Clone(raw)
			other[31] |= sign
			if _, err := did.KeyFromEd25519(other); err == nil {
				t.Errorf("%s, sign %x: it is a key", name, sign)
			}
		}
	}
}

func littleEndian(n *big.Int) []byte {
	b := n.FillBytes(make([]byte, 32))
	slices.Reverse(b)
	return b
}

// FuzzDIDSpellings: text that is a DID is the one text of its bytes, and no change
// of case, escape or alphabet is the same principal.
func FuzzDIDSpellings(f *testing.F) {
	for _, seed := range []string{
		"did:web:example.com%3A8080:a:b", "did:ixo:ixo1abc", "did:mailto:web.mail:alice",
		"did:key:z6Mkupw5FqjX2ob5Q8bNEnNvCPchkDhEhTmPoRZVcYWeVXZo", "did:key:zDnaevRFTpveD79Mjz98Dphs4sEMcj7JYDrPmdVTywvWCa6si",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := did.Parse(text)
		if err != nil {
			return
		}
		if string(d) != text {
			t.Fatalf("%q is read as %q", text, d)
		}
		raw, err := d.Bytes()
		if err != nil {
			t.Fatalf("%q has no bytes: %v", text, err)
		}
		if again, err := did.FromBytes(raw); err != nil || again != d {
			t.Fatalf("%q has bytes that are read as %q, %v", text, again, err)
		}
		if d.Method() == "web" {
			for _, other := range []string{strings.ToUpper(d.ID()), strings.ReplaceAll(d.ID(), "%3A", "%3a"), d.ID() + "."} {
				o, err := did.Parse("did:web:" + other)
				host, _, _ := strings.Cut(other, ":")
				mine, _, _ := strings.Cut(d.ID(), ":")
				if err == nil && other != d.ID() && strings.EqualFold(host, mine) && host != mine {
					t.Fatalf("%q and %q are one host", d, o)
				}
			}
		}
	})
}
