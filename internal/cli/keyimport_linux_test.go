package cli_test

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/castalia-org/castalia/internal/cli"
)

// atTerminal runs a command at a terminal, and answers when it asks for the first time.
// It returns what the terminal showed beside what the command printed.
func atTerminal(t *testing.T, answer string, args ...string) (shown, printed string, code int) {
	t.Helper()
	screen, program := terminal(t)
	before, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	all := make(chan string, 1)
	go func() {
		var text bytes.Buffer
		one := make([]byte, 256)
		for asked := false; ; {
			n, err := screen.Read(one)
			text.Write(one[:n])
			if !asked && strings.Contains(text.String(), "Word 1 of 24: ") {
				asked = true
				_, err = io.WriteString(screen, answer)
			}
			if err != nil || strings.Contains(text.String(), "\x04") {
				all <- text.String()
				return
			}
		}
	}()
	var out bytes.Buffer
	code = cli.Run(t.Context(), args, cli.IO{In: program, Out: &out, Err: program})
	after, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
	if diff := cmp.Diff(before, after); err != nil || diff != "" {
		t.Errorf("the terminal is not as it was: %v %s", err, diff)
	}
	if _, err := program.WriteString("\x04"); err != nil { // the mark of the end, for the reader above
		t.Fatal(err)
	}
	return <-all, strings.TrimSpace(out.String()), code
}

func TestWordsAreTypedAtATerminalAndNotShown(t *testing.T) {
	t.Parallel()
	words := strings.Fields("dignity pass list indicate nasty swamp pool script soccer toe leaf photo " +
		"multiply desk host tomato cradle drill spread actor shine dismiss champion exotic")
	file := filepath.Join(t.TempDir(), "key")
	lines := "goatherd\n" + strings.Join(words, "\n") + "\n"
	shown, printed, code := atTerminal(t, lines, "key", "import", "--out", file)
	if code != 0 || printed != "did:key:z6MkfB9ayHA7ssxDAcXTgjVnws2WWRE8eN1VE6K24TUGuHf4" {
		t.Errorf("exit %d: %q\n%s", code, printed, shown)
	}
	if !strings.Contains(shown, "Word 1 is not on the list") || !strings.Contains(shown, "Word 24 of 24: ") {
		t.Errorf("shown:\n%s", shown)
	}
	for _, word := range []string{"goatherd", "dignity", "swamp", "multiply", "exotic"} {
		if strings.Contains(shown, word) {
			t.Errorf("%s is shown:\n%s", word, shown)
		}
	}
	// Ctrl-C, which a terminal in this state hands on as a sign.
	shown, printed, code = atTerminal(t, "dignity\n\x03", "key", "import", "--out", file+"2")
	if code != 1 || printed != "" || !strings.Contains(shown, "stopped at the keyboard") {
		t.Errorf("exit %d: %q\n%s", code, printed, shown)
	}
}
