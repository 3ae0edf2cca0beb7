package ucan

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
)

type format struct {
	DIDs []struct {
		DID   string `json:"did"`
		Bytes string `json:"bytes_hex"`
	} `json:"dids"`
	UCANs []struct {
		Name      string `json:"name"`
		CID       string `json:"cid"`
		Block     string `json:"block_hex"`
		Payload   string `json:"payload_json"`
		Signing   string `json:"signing_payload"`
		Signature string `json:"signature_hex"`
		JWT       string `json:"jwt"`
		Archive   string `json:"archive_hex"`
	} `json:"ucans"`
}

func readFormat(t *testing.T) format {
	t.Helper()
	data, err := os.ReadFile("../../../spec/vectors/ucan/meta/format.json")
	if err != nil {
		t.Fatal(err)
	}
	var f format
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	if len(f.UCANs) < 10 || len(f.DIDs) < 5 {
		t.Fatalf("%d tokens and %d DIDs: the file is not what it was", len(f.UCANs), len(f.DIDs))
	}
	return f
}

func unhex(t *testing.T, s string) string {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestFormat reproduces real tokens byte for byte, from block to archive.
func TestFormat(t *testing.T) {
	t.Parallel()
	for _, want := range readFormat(t).UCANs {
		t.Run(want.Name, func(t *testing.T) {
			t.Parallel()
			block := unhex(t, want.Block)
			u, err := decodeBlock(ipld.SumDagCBOR(block), block)
			if err != nil {
				t.Fatal(err)
			}
			if u.CID() != want.CID {
				t.Errorf("CID %s, want %s", u.CID(), want.CID)
			}
			if got := string(u.appendPayload(nil)); got != want.Payload {
				t.Errorf("payload\n%s, want\n%s", got, want.Payload)
			}
			if got := string(u.signingInput()); got != want.Signing {
				t.Errorf("signing input\n%s, want\n%s", got, want.Signing)
			}
			if u.signature.framed != unhex(t, want.Signature) {
				t.Error("signature differs")
			}
			again, err := u.encode()
			if err != nil || again != block {
				t.Errorf("encoded block differs: %x, %v", again, err)
			}
			token, err := ParseCAR(unhex(t, want.Archive))
			if err != nil {
				t.Fatal(err)
			}
			if string(token.Archive()) != unhex(t, want.Archive) {
				t.Error("archive differs")
			}
			if u.signature.absent() {
				return // it has no JWT form to speak of
			}
			for _, twice := range []string{`{"aud":"did:key:z6Mk",`, `{"exp":9999999999,`} {
				header, rest, _ := strings.Cut(want.JWT, ".")
				payload, sig, _ := strings.Cut(rest, ".")
				text, err := base64.RawURLEncoding.DecodeString(payload)
				if err != nil {
					t.Fatal(err)
				}
				said := base64.RawURLEncoding.EncodeToString([]byte(twice + string(text[1:])))
				if _, err := decodeJWT(u.cid, header+"."+said+"."+sig); err == nil {
					t.Errorf("a JWT that begins with %s and says it again is taken", twice)
				}
			}
			jwt, err := decodeJWT(u.cid, want.JWT)
			if err != nil {
				t.Fatalf("JWT form: %v", err)
			}
			if string(jwt.signingInput()) != want.Signing {
				t.Error("JWT form says something else")
			}
		})
	}
}

func TestDIDBytes(t *testing.T) {
	t.Parallel()
	for _, want := range readFormat(t).DIDs {
		d, err := did.FromBytes(unhex(t, want.Bytes))
		if err != nil || string(d) != want.DID {
			t.Errorf("from bytes: %s, %v; want %s", d, err, want.DID)
		}
		raw, err := did.DID(want.DID).Bytes()
		if err != nil || raw != unhex(t, want.Bytes) {
			t.Errorf("%s to bytes: %x, %v", want.DID, raw, err)
		}
	}
}

// TestNoRefusalQuotesTheToken keeps secrets out of logs: a detail may name DIDs
// and resources, never the text that somebody could use again.
func TestNoRefusalQuotesTheToken(t *testing.T) {
	t.Parallel()
	secret := strings.Repeat("c2VjcmV0", 40)
	_, err := Parse(secret)
	if err == nil || strings.Contains(err.Error(), "c2VjcmV0") {
		t.Errorf("got %v", err)
	}
}
