package system

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"testing"
)

// Run runs one command of the program to its end and returns what it printed, its
// answer before what it logged (a slow disk, say), and its exit code.
func Run(t testing.TB, env []string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), Binary(t), args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir}, env...)
	var answer, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &answer, &log
	err := cmd.Run()
	text := answer.String() + log.String()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return text, exit.ExitCode()
	}
	if err != nil {
		t.Fatalf("run castalia %v: %v", args, err)
	}
	return text, 0
}
