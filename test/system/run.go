package system

import (
	"errors"
	"os"
	"os/exec"
	"testing"
)

// Run runs one command of the program to its end and returns what it printed,
// on both streams, and its exit code.
func Run(t testing.TB, env []string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), Binary(t), args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir}, env...)
	text, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(text), exit.ExitCode()
	}
	if err != nil {
		t.Fatalf("run castalia %v: %v", args, err)
	}
	return string(text), 0
}
