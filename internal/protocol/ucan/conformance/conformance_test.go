package conformance_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
	"github.com/castalia-org/castalia/internal/protocol/ucan/conformance"
)

const vectors = "../../../../spec/vectors/ucan"

// settled are the sets that the rule of the file store gives where a vector is
// flagged ambiguous: every nb.cids in the token is intersected, on the path or not.
var settled = map[string][]string{
	"cids-two-capabilities-no-union": {},
	"cids-two-proofs-leaf-none":      {},
}

func TestVectors(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(vectors, "*.json"))
	if err != nil || len(files) < 100 {
		t.Fatalf("found %d vectors, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		v, err := conformance.Parse(data)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			want := conformance.Result{Name: v.Name, Valid: v.Stated() == "valid", Reason: v.Stated()}
			if want.Valid {
				want.CIDs = v.EffectiveCIDs
			}
			if cids, ok := settled[v.Name]; ok {
				want.CIDs = cids
			}
			if diff := cmp.Diff(want, conformance.Run(v)); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

// An empty token is a token that does not hold, not a vector that cannot be read.
func TestEmptyTokenIsJudged(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"name":"empty","token":"","service":"did:web:vfs.test","expect":"malformed"}`,
		`{"name":"empty","service":"did:web:vfs.test","expect":"malformed"}`,
		`{"name":"empty","token":" \n=","service":"did:web:vfs.test","expect":"malformed"}`,
	} {
		v, err := conformance.Parse([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		r := conformance.Run(v)
		if agrees, why := v.Agrees(r); !agrees || r.Reason != "malformed" {
			t.Errorf("%s: %+v, %s", text, r, why)
		}
	}
	if _, err := conformance.Parse([]byte(`{"token":"x"}`)); err == nil {
		t.Error("a vector without a name is read")
	}
}

// What a principal says of itself needs no owner beside it: with = issuer. Of the
// service that is also its own namespace.
func TestServiceSpeaksOfItself(t *testing.T) {
	t.Parallel()
	signer, err := did.SignerFromSeed(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	owners := map[string][]string{"ixo1alice": {"did:key:z6Mkupw5FqjX2ob5Q8bNEnNvCPchkDhEhTmPoRZVcYWeVXZo"}}
	for _, service := range []did.DID{"did:web:vfs.test", "did:ixo:entity:1", signer.DID()} {
		for _, with := range []string{string(service), "vfs://" + strings.ReplaceAll(string(service), ":", "%3A") + "/x"} {
			token, err := ucan.Issue(signer.As(service), ucan.Statement{
				Audience: service, Expires: time.Unix(2_000_000_000, 0),
				Capabilities: []ucan.Capability{ucan.NewCapability("fs/read", with, ipld.Node{})},
			})
			if err != nil {
				t.Fatal(err)
			}
			v := conformance.Vector{
				Name: "itself", Token: token.Encode(), Service: string(service), ServiceKey: string(signer.DID()),
				Now: 1_800_000_000, Owners: owners,
			}
			for _, request := range []*conformance.Request{nil, {Can: "fs/read", With: with}} {
				v.Request = request
				if r := conformance.Run(v); !r.Valid {
					t.Errorf("%s of %s: %s", service, with, r.Reason)
				}
			}
			v.Request = &conformance.Request{Can: "fs/read", With: "vfs://ixo1alice"}
			if r := conformance.Run(v); r.Valid {
				t.Errorf("%s of %s: serves alice's files", service, with)
			}
		}
	}
}
