package conformance_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

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
