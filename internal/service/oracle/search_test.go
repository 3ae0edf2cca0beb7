package oracle

import (
	"strings"
	"testing"
)

func TestExcerptShowsTheWordOnOneLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("before ", 40) + "the Äpfel\nof  autumn " + strings.Repeat("after ", 40)
	for _, c := range []struct{ text, words, want string }{
		{"", "bees", ""},
		{"The bees\n\nfly.", "bees", "The bees fly."},
		{"short", "elsewhere", "short"},
		{"a", "longer than it", "a"},
		{long, "äpfel", "…before before before before before the Äpfel of autumn"},
		{long, "autumn ÄPFEL", "…before before before before before the Äpfel of autumn"},
	} {
		got := excerpt(c.text, strings.Fields(c.words))
		if !strings.HasPrefix(got, c.want) || strings.HasSuffix(got, "…") != (c.text == long) || len([]rune(got)) > excerptBefore+excerptAfter+2 {
			t.Errorf("%.20q for %q: %q", c.text, c.words, got)
		}
	}
}
