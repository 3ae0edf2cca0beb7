package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAShellAsksWhatComesNext(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"ser":              "serve",
		"help ser":         "serve",
		"fs s":             "sync stat search share",
		"fs put --fo":      "--follow",
		"fs put -r --ne":   "--new",
		"serve --por":      "--port",
		"serve --he":       "--help",
		"completion ":      "bash zsh fish",
		"complete ":        "", // not for people
		"read-document ":   "",
		"nothing-like-it ": "",
		"fs put ":          "", // files, which the shell knows
	} {
		words := append([]string{"complete", "--"}, strings.Split(line, " ")...)
		out, errs, code := run(t, nil, words...)
		if got := strings.Join(strings.Fields(out), " "); code != 0 || errs != "" || got != want {
			t.Errorf("%q: exit %d: %q%s, want %q", line, code, got, errs, want)
		}
	}
	if out, _, _ := run(t, nil, "complete"); !slices.Contains(strings.Fields(out), "serve") || strings.Contains(out, "read-document") {
		t.Errorf("first words: %s", out)
	}
}

// What a shell offers exists: each offered subcommand explains itself.
func TestWhatIsOfferedExplainsItself(t *testing.T) {
	t.Parallel()
	commands, _, _ := run(t, nil, "complete", "--", "")
	for name := range strings.FieldsSeq(commands) {
		subs, _, _ := run(t, nil, "complete", "--", name, "")
		for sub := range strings.FieldsSeq(subs) {
			if out, errs, code := run(t, nil, name, sub, "--help"); code != 0 || errs != "" || out == "" {
				t.Errorf("castalia %s %s --help: exit %d: %s%s", name, sub, code, out, errs)
			}
		}
	}
}

func TestBashCompletes(t *testing.T) {
	t.Parallel()
	script, _, code := run(t, nil, "completion", "bash")
	if code != 0 {
		t.Fatalf("exit %d", code)
	}
	// The program is a stand-in that says how it was asked: what it answers is
	// tested above, and here that bash asks and takes the answer.
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "castalia"), []byte("#!/bin/sh\nprintf '%s\\n' \"$*\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	ask := exec.CommandContext(t.Context(), "bash", "-c", script+`
COMP_WORDS=(castalia fs put --fo); COMP_CWORD=3; _castalia; printf '%s\n' "${COMPREPLY[@]}"`)
	ask.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	out, err := ask.CombinedOutput()
	if err != nil || string(out) != "complete -- fs put --fo\n" {
		t.Errorf("%v: %q", err, out)
	}
	for _, args := range [][]string{{"completion"}, {"completion", "powershell"}} {
		if _, errs, code := run(t, nil, args...); code != 2 || !strings.Contains(errs, "bash, zsh, fish") {
			t.Errorf("%v: exit %d: %s", args, code, errs)
		}
	}
}
