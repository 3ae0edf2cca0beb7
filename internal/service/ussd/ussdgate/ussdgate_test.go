package ussdgate_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdgate"
)

const word = "a-word-that-both-know"

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestOnlyWhoIsListedMayCall, and only in the ways that the list names.
func TestOnlyWhoIsListedMayCall(t *testing.T) {
	t.Parallel()
	key := write(t, "key", word+"\n\nthe-one-before-that-word\n")
	gate, err := ussdgate.Read(write(t, "gateways.yaml", `gateways:
  session: {addresses: [192.0.2.0/24, "2001:db8::1"]}
  advanta: {secret: {query: key, file: `+key+`}}
  hubtel: {addresses: [198.51.100.7], secret: {header: X-Token, file: `+key+`}}
  own: {signature: {header: X-Signature, algorithm: sha256, encoding: hex, prefix: "sha256=", file: `+key+`}}
`), []string{"advanta", "hubtel", "nalo", "own"})
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte(word))
	_, _ = mac.Write([]byte("body"))
	good := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	for _, tc := range []struct {
		name, addr, shown, body string
		field                   string
	}{
		{"session", "192.0.2.9", "", "", ""},
		{"session", "::ffff:192.0.2.9", "", "", ""},
		{"session", "2001:db8::1", "", "", ""},
		{"session", "2001:db8::2", "", "", "address"},
		{"session", "198.51.100.7", "", "", "address"},
		{"nalo", "192.0.2.9", word, "", "gateway"},
		{"advanta", "203.0.113.1", word, "", ""},
		{"advanta", "203.0.113.1", "the-one-before-that-word", "", ""},
		{"advanta", "203.0.113.1", "", "", "secret"},
		{"advanta", "203.0.113.1", word + "x", "", "secret"},
		{"hubtel", "198.51.100.7", word, "", ""},
		{"hubtel", "198.51.100.7", "no", "", "secret"},
		{"hubtel", "198.51.100.8", word, "", "address"},
		{"own", "203.0.113.1", good, "body", ""},
		{"own", "203.0.113.1", good, "another body", "signature"},
		{"own", "203.0.113.1", strings.TrimPrefix(good, "sha256="), "body", "signature"},
		{"own", "203.0.113.1", "sha256=", "body", "signature"},
		{"own", "203.0.113.1", "sha256=zz", "body", "signature"},
	} {
		shown := func(string) string { return tc.shown }
		err := gate.Admit(tc.name, ussdgate.Caller{
			Addr: netip.MustParseAddr(tc.addr), Header: shown, Query: shown,
			Signed: func() ([]byte, error) { return []byte(tc.body), nil },
		})
		if (err == nil) != (tc.field == "") || err != nil && !strings.HasPrefix(err.Error(), tc.field+" ") {
			t.Errorf("%+v: %v", tc, err)
		}
		if err != nil && strings.Contains(err.Error(), word) {
			t.Error(err)
		}
	}
	var none *ussdgate.Gate
	if err := none.Admit("nalo", ussdgate.Caller{}); err != nil {
		t.Errorf("without a list: %v", err)
	}
}

func TestAListThatWouldNotHoldIsRefused(t *testing.T) {
	t.Parallel()
	key, short := write(t, "key", word), write(t, "short", "hush")
	for text, want := range map[string]string{
		"":                                     "no gateway may call",
		"gateways: {other: {}}":                `"other" is no gateway: there are session, nalo`,
		"gateways: {nalo: {}}":                 "nalo: it checks nothing",
		"gateways: {nalo: {addrs: [1.2.3.4]}}": `unknown key "addrs"`,
		"gateways: {nalo: {addresses: [1.2.3.400]}}":                                           "write an address or a range",
		"gateways: {nalo: {secret: {file: " + key + "}}}":                                      "write header or query",
		"gateways: {nalo: {secret: {header: X}}}":                                              "file: write the path",
		"gateways: {nalo: {secret: {header: X, file: " + short + "}}}":                         "less than 16 characters",
		"gateways: {nalo: {secret: {header: X, file: " + key + ".no}}}":                        "no such file",
		"gateways: {nalo: {signature: {header: X, file: " + key + "}}}":                        "signature.algorithm: write sha256",
		"gateways: {nalo: {signature: {header: X, algorithm: sha256, file: " + key + "}}}":     "signature.encoding: write hex or base64",
		"gateways: {nalo: {signature: {algorithm: sha256, encoding: hex, file: " + key + "}}}": "signature.header: write",
	} {
		if _, err := ussdgate.Read(write(t, "g.yaml", text), []string{"nalo"}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
