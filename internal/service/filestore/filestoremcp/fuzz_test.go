package filestoremcp

import (
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/filestore"
)

func FuzzResourcePath(f *testing.F) {
	const ns = "did:key:zOwner"
	for _, seed := range []string{"vfs://did%3Akey%3AzOwner/a", "vfs://did:key:zOwner/a/../b", "vfs://did%3Akey%3AzOther/a", "vfs://", "file:///etc/passwd", "vfs://did%3Akey%3AzOwner/%zz", "vfs://did%3Akey%3AzOwner/%2e%2e/x"} {
		f.Add(seed)
	}
	owner := filestore.Owner(ns)
	f.Fuzz(func(t *testing.T, uri string) {
		path, ok := resourcePath(uri, ns)
		if ok && !strings.HasPrefix(path, "/") {
			t.Errorf("%q is %q", uri, path)
		}
		for _, kept := range reachable(owner, []string{uri}) {
			if path, _ := resourcePath(kept, ns); strings.Contains(path+"/", "/../") {
				t.Errorf("%q climbs", kept)
			}
		}
		if _, ok := resourcePath(uri, ns+"x"); ok && !strings.Contains(uri, "zOwnerx") && !strings.Contains(uri, "%") {
			t.Errorf("%q is of another namespace", uri)
		}
	})
}
