package filestoretest

import (
	"strings"
	"testing"
)

// Door is one way to reach a namespace as its owner: the service itself, REST or
// MCP. Errors only count as such; their texts are each door's own.
type Door interface {
	Create(path, text string) (cid string, err error)
	Replace(path, text string) (cid string, err error)
	Read(path string) (string, error)
	Edit(path, old, replacement string) error
	Move(from, to string) error
	Remove(path string) error
	Children(folder string) ([]string, error)
	Versions(path string) (int, error)
}

// Behaviour holds a door against what every door promises.
func Behaviour(t *testing.T, d Door) {
	t.Helper()
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	refused := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s was allowed", what)
		}
	}
	reads := func(path, want string) {
		t.Helper()
		if got, err := d.Read(path); err != nil || got != want {
			t.Errorf("read %s: %q, %v; want %q", path, got, err, want)
		}
	}
	_, err := d.Read("/a")
	refused("reading what is absent", err)
	first, err := d.Create("/a", "one\ntwo\n")
	must("create", err)
	_, err = d.Create("/a", "again\n")
	refused("creating over a file", err)
	same, err := d.Create("/d/b", "one\ntwo\n")
	must("create below a folder", err)
	if first != same || !strings.HasPrefix(first, "bafkrei") {
		t.Errorf("equal content has the CIDs %s and %s", first, same)
	}
	second, err := d.Replace("/a", "one\n2\n")
	must("replace", err)
	if second == first {
		t.Error("another content has the same CID")
	}
	reads("/a", "one\n2\n")
	must("edit", d.Edit("/a", "one", "1"))
	refused("editing what is not there", d.Edit("/a", "one", "1"))
	reads("/a", "1\n2\n")
	if n, err := d.Versions("/a"); err != nil || n != 3 {
		t.Errorf("%d versions, %v", n, err)
	}
	refused("moving over a file", d.Move("/a", "/d/b"))
	must("move", d.Move("/a", "/d/c"))
	_, err = d.Read("/a")
	refused("reading where a file was", err)
	if names, err := d.Children("/d"); err != nil || strings.Join(names, " ") != "/d/b /d/c" {
		t.Errorf("children %v, %v", names, err)
	}
	if n, err := d.Versions("/d/c"); err != nil || n != 3 {
		t.Errorf("%d versions after the move, %v", n, err)
	}
	must("remove", d.Remove("/d/c"))
	refused("removing twice", d.Remove("/d/c"))
	_, err = d.Create("/../x", "x")
	refused("a path that climbs", err)
}
