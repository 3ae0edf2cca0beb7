package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/test/testenv"
)

// TestSetupNamesWhatIsMissingInOneLine runs `make setup`'s script as somebody who
// is not root, on a machine that has only what this test puts on its PATH.
func TestSetupNamesWhatIsMissingInOneLine(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "bash")
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("../../scripts/setup")
	if err != nil {
		t.Fatal(err)
	}
	setup := func(programs ...string) (string, error) {
		dir := t.TempDir()
		for _, name := range programs {
			text := "#!" + bash + "\n"
			if name == "id" {
				text += "echo 1000\n"
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), bash, script)
		cmd.Env = []string{"PATH=" + dir}
		said, err := cmd.CombinedOutput()
		return string(said), err
	}
	basics := []string{"go", "node", "npm", "git", "id"}
	said, err := setup(append(basics, "gcc", "initdb", "ip", "nginx")...)
	if want := "setup: missing Chromium: install the Debian packages chromium (or their like)\n"; err == nil || said != want {
		t.Errorf("without Chromium: %v, %q, want %q", err, said, want)
	}
	if said, err := setup("id"); err == nil || strings.Count(said, "\n") != 1 || !strings.Contains(said, "'go' is missing") {
		t.Errorf("without Go: %v, %q", err, said)
	}
	if said, err := setup(append(basics, "gcc", "initdb", "ip", "nginx", "chromium")...); err != nil || said != "setup: everything is here\n" {
		t.Errorf("with everything: %v, %q", err, said)
	}
}
