package testenv

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
)

// Killed runs this test program once more, with a variable by which its TestMain
// knows what to do, and kills it as soon as it has printed so many lines. It returns
// all that it printed: what came out before it died counts too.
func Killed(t testing.TB, variable, value string, lines int) (printed []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), variable+"="+value)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for said := bufio.NewScanner(out); said.Scan(); {
		if printed = append(printed, said.Text()); len(printed) != lines {
			continue
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Wait() // it was killed
	return printed
}
