package ship_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/test/testenv"
)

// setup runs scripts/setup on a machine that has an apt-get of ours and misses
// everything that the tests need. It returns what was asked of apt-get, too.
func setup(t *testing.T, apt string) (said, asked string, err error) {
	t.Helper()
	testenv.Need(t, "bash")
	if _, err := os.Stat("/etc/debian_version"); err != nil {
		testenv.Lacks(t, "debian", "setup installs on nothing else: "+err.Error())
	}
	tools := t.TempDir()
	for name, text := range map[string]string{
		"id": "echo 0", "sleep": "echo slept >>" + tools + "/asked", "go": "", "node": "", "npm": "", "git": "", "chromium": "", "nginx": "", "ip": "",
		"apt-get": `echo "$*" >>` + tools + "/asked\n" + apt,
	} {
		if err := os.WriteFile(filepath.Join(tools, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"bash", "env", "sh", "cat", "wc", "grep"} {
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(path, filepath.Join(tools, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash", filepath.Join(root, "scripts", "setup"))
	cmd.Env = []string{"PATH=" + tools, "HERE=" + tools}
	out, err := cmd.CombinedOutput()
	log, readErr := os.ReadFile(filepath.Join(tools, "asked"))
	if readErr != nil {
		t.Fatal(readErr)
	}
	return string(out), string(log), err
}

func TestSetupWaitsForThePackageManager(t *testing.T) {
	t.Parallel()
	said, asked, err := setup(t, `[ "$(grep -c slept "$HERE/asked")" -ge 3 ] || { echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7" >&2; exit 100; }`)
	if err != nil || !strings.Contains(said, "waiting for it") || !strings.Contains(said, "setup: installed") {
		t.Errorf("%v\n%s", err, said)
	}
	if strings.Count(asked, "update") != 4 || strings.Count(asked, "install -y") != 1 || strings.Count(said, "waiting") != 1 {
		t.Errorf("asked\n%s\nsaid\n%s", asked, said)
	}
}

func TestSetupSaysWhatElseIsWrong(t *testing.T) {
	t.Parallel()
	said, asked, err := setup(t, `echo "E: no space left" >&2; exit 100`)
	if err == nil || !strings.Contains(said, "no space left") || strings.Contains(asked, "slept") {
		t.Errorf("%v\n%s%s", err, said, asked)
	}
}
