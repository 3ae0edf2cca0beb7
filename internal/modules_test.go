package internal

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	tableRow = regexp.MustCompile(`(?m)^\| (.+?) \|`)
	quoted   = regexp.MustCompile("`([^`]+)`")
)

// TestEveryLibraryHasItsReason compares docs/adr/0008 with go.mod, both ways.
func TestEveryLibraryHasItsReason(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("read go.mod: %v", err)
	}
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/adr/0008-dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	reasons := make(map[string]bool)
	for _, names := range submatches(tableRow, string(page)) {
		for _, name := range submatches(quoted, names) {
			if reasons[name] {
				t.Errorf("docs/adr/0008 names %s twice", name)
			}
			reasons[name] = true
		}
	}
	var direct []string
	for _, r := range mod.Require {
		if r.Indirect {
			continue
		}
		direct = append(direct, r.Path)
		if !reasons[r.Path] {
			t.Errorf("go.mod requires %s, and docs/adr/0008 does not say why", r.Path)
		}
	}
	for name := range reasons {
		if !slices.Contains(direct, name) {
			t.Errorf("docs/adr/0008 has a line for %s, which go.mod does not require", strings.TrimSpace(name))
		}
	}
}
