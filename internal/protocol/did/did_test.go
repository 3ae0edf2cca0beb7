package did_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/did"
)

func TestKeysOfWallets(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../../spec/vectors/ucan/meta/format.json")
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Keys []struct {
			Seed    string `json:"seed_hex"`
			DID     string `json:"did"`
			Private string `json:"private_key"`
		} `json:"keys"`
		Mnemonics []struct {
			Mnemonic string `json:"mnemonic"`
			DID      string `json:"did"`
			Private  string `json:"private_key"`
		} `json:"mnemonics"`
	}
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	for _, want := range f.Keys {
		for _, text := range []string{want.Seed, want.Private, " " + want.Private + "\n"} {
			s, err := did.ParseSigner(text)
			if err != nil || string(s.DID()) != want.DID || s.PrivateText() != want.Private {
				t.Errorf("%v, %v; want %s", s, err, want.DID)
			}
		}
	}
	for _, want := range f.Mnemonics {
		s, err := did.SignerFromMnemonic(want.Mnemonic)
		if err != nil || string(s.DID()) != want.DID || s.PrivateText() != want.Private {
			t.Errorf("%v, %v; want %s", s, err, want.DID)
		}
	}
	if len(f.Keys) == 0 || len(f.Mnemonics) == 0 {
		t.Error("no keys in the file")
	}
}

func TestSignerShowsNoSecret(t *testing.T) {
	t.Parallel()
	s, err := did.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{fmt.Sprint(s), fmt.Sprintf("%+v", s), fmt.Sprintf("%#v", s), fmt.Sprintf("%v", &s)} {
		if !strings.Contains(shown, string(s.DID())) || len(shown) > 100 {
			t.Errorf("prints as %s", shown)
		}
	}
	if _, err := did.ParseSigner("M" + strings.Repeat("secret", 4)); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
	if _, err := did.SignerFromMnemonic("  "); err == nil {
		t.Error("an empty phrase is a key")
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	good := []string{
		"did:web:example.com%3A8080:a:b", "did:ixo:entity:abc", "did:mailto:web.mail:alice",
		"did:key:z6Mkupw5FqjX2ob5Q8bNEnNvCPchkDhEhTmPoRZVcYWeVXZo",
	}
	for _, text := range good {
		d, err := did.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		raw, err := d.Bytes()
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if back, err := did.FromBytes(raw); err != nil || back != d {
			t.Errorf("%s came back as %s, %v", text, back, err)
		}
	}
	bad := []string{
		"", "did", "did:", "did:web", "did:web:", "did::x", "did:WEB:x", "did:key:x", "did:key:z", "did:key:z0", "did:key:z6Mk",
		"did:web:a b", "did:web:a/b", "did:web:a#b", "did:web:" + strings.Repeat("a", did.MaxLen), "did:web:\xff", "web:x",
	}
	for _, text := range bad {
		if d, err := did.Parse(text); !errors.Is(err, did.ErrInvalid) {
			t.Errorf("%q: %s, %v", text, d, err)
		}
	}
}

func TestFromBytesRefuses(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"", "\xed", "\x00", "\x9d\x1a", "\x9d\x1akey:z6Mkupw5FqjX2ob5Q8bNEnNvCPchkDhEhTmPoRZVcYWeVXZo", "\x9d\x1aweb:",
		"\x81\x00x", "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", "\x9d\x1aweb:" + strings.Repeat("a", did.MaxLen),
	} {
		if d, err := did.FromBytes(raw); !errors.Is(err, did.ErrInvalid) {
			t.Errorf("%x: %s, %v", raw, d, err)
		}
	}
}

func TestKeysThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"short Ed25519":      "ed01" + strings.Repeat("00", 31),
		"long P-256":         "8024" + "03" + strings.Repeat("11", 64),
		"P-256 off curve":    "8024" + "03" + strings.Repeat("ff", 32),
		"secp256k1 off":      "e701" + "02" + strings.Repeat("ff", 32),
		"RSA that is no DER": "8524" + "3082",
		"P-384":              "8124" + "02" + strings.Repeat("11", 48),
	} {
		raw, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := did.KeyFromTagged(string(raw)); !errors.Is(err, did.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMirror shows the twin of an ECDSA signature: it verifies, and it is found.
func TestMirror(t *testing.T) {
	t.Parallel()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := private.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	compressed := append([]byte{2 + public[64]&1}, public[1:33]...)
	key, err := did.KeyFromTagged("\x80\x24" + string(compressed))
	if err != nil {
		t.Fatal(err)
	}
	message := []byte("message")
	sum := sha256.Sum256(message)
	r, s, err := ecdsa.Sign(rand.Reader, private, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	sig := make([]byte, 64)
	r.FillBytes(sig[:32])
	s.FillBytes(sig[32:])
	twin := did.Mirror(did.ES256, sig)
	if !key.Verify(did.ES256, message, sig) || !key.Verify(did.ES256, message, twin) {
		t.Error("signature and twin must verify")
	}
	if string(did.Mirror(did.ES256, twin)) != string(sig) {
		t.Error("the twin of the twin is another signature")
	}
	if key.Verify(did.EdDSA, message, sig) || key.Verify(did.ES256K, message, sig) ||
		key.Verify(did.ES256, message, sig[:63]) {
		t.Error("algorithm or length does not matter")
	}
	over := make([]byte, 64)
	new(big.Int).Set(elliptic.P256().Params().N).FillBytes(over[32:])
	if did.Mirror(did.EdDSA, sig) != nil || did.Mirror(did.ES256, over) != nil || did.Mirror(did.ES256, nil) != nil {
		t.Error("a twin where there is none")
	}
}

func TestParseDocument(t *testing.T) {
	t.Parallel()
	const multibase = "z6Mkupw5FqjX2ob5Q8bNEnNvCPchkDhEhTmPoRZVcYWeVXZo"
	const raw = "e46ca17bb2018b53d77f3b3516f3e351f6b56427487ff4975a929d9c2860c1b6"
	methods := map[string]string{
		"multibase": `{"type":"Ed25519VerificationKey2020","publicKeyMultibase":"` + multibase + `"}`,
		"hex":       `{"type":"Ed25519VerificationKey2018","publicKeyHex":"` + raw + `"}`,
		"base58":    `{"type":"Ed25519VerificationKey2018","publicKeyBase58":"GNCJbGoX4TqpZDZvBVHwwmPgyRzKzGzPDsLxcKvx9W6f"}`,
		"jwk":       `{"type":"JsonWebKey2020","publicKeyJwk":{"kty":"OKP","crv":"Ed25519","x":"5Gyhe7IBi1PXfzs1FvPjUfa1ZCdIf_SXWpKdnChgwbY"}}`,
	}
	for name, method := range methods {
		for _, wrap := range []string{`%s`, `{"didDocument":%s}`} {
			text := fmt.Sprintf(wrap, `{"id":"did:web:a.test","controller":["did:ixo:c","junk"],"verificationMethod":[{"type":"Other"},`+method+`]}`)
			d, err := did.ParseDocument("did:web:a.test", []byte(text))
			if err != nil || len(d.Keys) != 1 || len(d.Controllers) != 1 {
				t.Errorf("%s: %d keys, controllers %v, %v", name, len(d.Keys), d.Controllers, err)
				continue
			}
			if name != "base58" && d.Keys[0].DID() != "did:key:"+multibase {
				t.Errorf("%s: key %s", name, d.Keys[0].DID())
			}
		}
	}
	for name, text := range map[string]string{
		"other DID": `{"id":"did:web:b.test"}`, "no JSON": "x", "no DID": "{}",
		"said twice": `{"id":"did:web:b.test","id":"did:web:a.test"}`, "in two cases": `{"id":"did:web:b.test","ID":"did:web:a.test"}`,
		"methods are no list": `{"id":"did:web:a.test","verificationMethod":1}`,
		"too long":            `{"id":"did:web:a.test","x":"` + strings.Repeat("x", did.MaxDocument) + `"}`,
	} {
		if _, err := did.ParseDocument("did:web:a.test", []byte(text)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func FuzzFromBytes(f *testing.F) {
	f.Add([]byte("\xed\x01" + strings.Repeat("k", 32)))
	f.Add([]byte("\x9d\x1aweb:a.test"))
	f.Add([]byte("\x85\x24\x30\x82\x01\x0a"))
	f.Add([]byte("\x85\x24" + strings.Repeat("\xd1", did.MaxLen-2))) // longer as text
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := did.FromBytes(string(raw))
		if err != nil {
			return
		}
		back, err := d.Bytes()
		if err != nil || back != string(raw) {
			t.Fatalf("%x became %s and %x, %v", raw, d, back, err)
		}
		if key, err := did.KeyFromTagged(string(raw)); err == nil {
			if key.DID() != d {
				t.Fatalf("key of %s is %s", d, key.DID())
			}
			for _, alg := range []did.Algorithm{did.EdDSA, did.ES256, did.ES256K, did.RS256} {
				if key.Verify(alg, raw, raw) {
					t.Fatal("junk verifies")
				}
			}
		}
	})
}

func FuzzParseDocument(f *testing.F) {
	f.Add([]byte(`{"id":"did:web:a.test","controller":"did:ixo:c","verificationMethod":[{"publicKeyHex":"00"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if d, err := did.ParseDocument("did:web:a.test", data); err == nil && d.ID != "did:web:a.test" {
			t.Fatalf("document of %s", d.ID)
		}
	})
}
