package spelling_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/platform/spelling"
)

func TestMeant(t *testing.T) {
	t.Parallel()
	names := []string{"serve", "key", "fs", "doctor", "dial", "rotate-keys"}
	for typed, want := range map[string]string{
		"srve": "serve", "docter": "doctor", "rotate-key": "rotate-keys", "dail": "dial", "fss": "fs",
		"zebra": "", "x": "", "": "", "ab": "",
	} {
		if got := spelling.Meant(typed, names); got != want {
			t.Errorf("%q: did you mean %q, want %q", typed, got, want)
		}
	}
	if best, changes := spelling.Nearest("PROT", []string{"HOST", "PORT"}); best != "PORT" || changes != 2 {
		t.Errorf("%s, %d", best, changes)
	}
}
