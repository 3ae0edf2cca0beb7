package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const folder = "../../docs/adr"

func TestTheIndexIsTrue(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	if err := write(&got, folder); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Error("docs/adr/README.md is stale: run `make generate`")
	}
}

func TestPagesInAnotherFormAreNamed(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"0001-colon.md":  "# 0001: a title\n\nStatus: accepted. Date: 2026-11-15.\n",
		"0002-number.md": "# 0003. Files: a title\n\nStatus: accepted. Date: 2026-11-15.\n",
		"0004-status.md": "# 0004. Files: a title\n\nStatus: accepted · 2026-11-15\n",
		"0005-empty.md":  "",
		"0006-area.md":   "# 0006. a title\n\nStatus: accepted. Date: 2026-11-15.\n\n## Context\n\n## Decision\n",
		"0007-order.md":  "# 0007. Files: a title\n\nStatus: accepted. Date: 2026-11-15.\n\n## Decision\n\n## Context\n",
		"0008-more.md":   "# 0008. Files: a title\n\nStatus: accepted. Date: 2026-11-15.\n\n## Context\n\n## Decision\n\n## Price\n",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := write(&strings.Builder{}, dir); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
