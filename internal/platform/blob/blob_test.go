package blob_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/platform/blob"
)

func FuzzCheckKey(f *testing.F) {
	f.Add("a/b.c")
	f.Add("../x")
	f.Fuzz(func(t *testing.T, key string) {
		if blob.CheckKey(key) != nil {
			return
		}
		for i := range key {
			if key[i] == '.' && (i == 0 || key[i-1] == '/') {
				t.Fatalf("%q has a segment that begins with a dot", key)
			}
		}
	})
}
