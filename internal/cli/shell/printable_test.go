package shell_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/cli/shell"
)

func TestTextsOfOthersDoNotPlayWithTheTerminal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"\x1b[2Jgone\x7f\a":       {"[2Jgone", "[2Jgone"},
		"\u009b31mred":            {"31mred", "31mred"},
		"a\r\nb\tc":               {"a\nb\tc", "a b c"},
		"\u202egnp.exe\u2066":     {"gnp.exe", "gnp.exe"},
		"caf\u00e9 \u6c34 \u0645": {"caf\u00e9 \u6c34 \u0645", "caf\u00e9 \u6c34 \u0645"},
	} {
		if got := [2]string{shell.Printable(text), shell.OneLine(text)}; got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
