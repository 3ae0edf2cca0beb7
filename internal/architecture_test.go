package internal

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// place is a file that ARCHITECTURE.md names, with a function of it or without.
var place = regexp.MustCompile("`([A-Za-z0-9_./-]+/[A-Za-z0-9_.-]+\\.(?:go|yml|yaml|md))(?::([A-Za-z0-9]+))?`")

// TestTheMapNamesRealPlaces walks every file and function that ARCHITECTURE.md
// names: paths are from the root of the repository or below internal.
func TestTheMapNamesRealPlaces(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	functions := 0
	for _, m := range place.FindAllStringSubmatch(string(text), -1) {
		source, err := os.ReadFile(m[1])
		if err != nil {
			source, err = os.ReadFile(filepath.Join("..", m[1]))
		}
		if err != nil {
			t.Errorf("ARCHITECTURE.md names %s, which is not there", m[1])
			continue
		}
		if m[2] == "" {
			continue
		}
		functions++
		if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + m[2] + `\b`).Match(source) {
			t.Errorf("ARCHITECTURE.md names %s of %s, which is not there", m[2], m[1])
		}
	}
	if functions < 20 {
		t.Errorf("only %d functions were found in ARCHITECTURE.md", functions)
	}
	for _, lost := range []string{"<<<<<<<", ">>>>>>>"} {
		if strings.Contains(string(text), lost) {
			t.Errorf("ARCHITECTURE.md has %s left from a merge", lost)
		}
	}
}
