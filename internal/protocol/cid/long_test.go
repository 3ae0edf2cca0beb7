package cid

import (
	"testing"

	"github.com/castalia-org/castalia/test/testenv"
)

// TestLongVectors takes the contents that reach a second level and beyond 2 GiB.
func TestLongVectors(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "long")
	for _, v := range readVectors(t).Vectors {
		if v.Size <= quickLimit {
			continue
		}
		t.Run(v.Name, func(t *testing.T) {
			checkVector(t, v.Family, v.Size, v.CID, v.SHA256, v.Leaves, v.DagSize)
		})
	}
}
