package oracle_test

import (
	"slices"
	"testing"

	"github.com/castalia-org/castalia/internal/service/oracle"
)

// Bytes that are no text are cut like letters, and harm nobody.
func TestCutToTakesAnyBytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		parts []string
		heard string
		want  []string
	}{
		{[]string{"Grüße", " an alle"}, "Grüße an", []string{"Grüße", " an"}},
		{[]string{"Grüße"}, "Gr\xc3", []string{"Gr"}},
		{[]string{"a\xff"}, "a\xffbc", []string{"a\xff"}},
		{[]string{"a\xff", "b"}, "a\xffbcd", []string{"a\xff", "b"}},
	} {
		if got := oracle.CutTo(c.parts, c.heard); !slices.Equal(got, c.want) {
			t.Errorf("%q of %q: %q, want %q", c.heard, c.parts, got, c.want)
		}
	}
}
