package main

import (
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEverythingThatIsLinkedIsListed(t *testing.T) {
	t.Parallel()
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: "example.org/us", Version: "v1.0.0"}, Deps: []*debug.Module{
		{Path: "example.org/b", Version: "v1.2.3", Sum: "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="},
		{Path: "example.org/a", Version: "v0.1.0", Replace: &debug.Module{Path: "example.org/fork", Version: "v0.2.0"}},
	}}
	lock := `{"packages": {"": {"version": "0.0.0"}, "client": {"version": "1.0.0"}, "node_modules/@castalia/client": {"link": true},
		"node_modules/react": {"version": "19.0.0", "integrity": "sha512-AAAA"}, "node_modules/a/node_modules/@x/y": {"version": "2.0.0", "dev": true}}}`
	b, err := assemble(info, []byte(lock))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range b.Components {
		got[c.Ref] = c.Scope
	}
	want := map[string]string{
		"pkg:golang/std@1.26.8": "", "pkg:golang/example.org/b@v1.2.3": "", "pkg:golang/example.org/fork@v0.2.0": "",
		"pkg:npm/react@19.0.0": "required", "pkg:npm/%40x/y@2.0.0": "excluded",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(b.Depends) != 1 || len(b.Depends[0].On) != len(want) || b.Metadata.Component.Name != "example.org/us" {
		t.Errorf("%+v", b)
	}
	if _, err := assemble(info, []byte("no JSON")); err == nil {
		t.Error("a broken lock file was taken")
	}
}
