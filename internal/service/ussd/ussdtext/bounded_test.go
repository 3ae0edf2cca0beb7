package ussdtext

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestLongAnswersAreCutBetweenWords and say that they were.
func TestLongAnswersAreCutBetweenWords(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text string
		most int
		want string
	}{
		{"plant maize now", 15, "plant maize now"},
		{"plant maize now and", 18, "plant maize now..."},
		{"plant maize now and", 17, "plant maize..."},
		{"plant maize noon", 15, "plant maize..."},
		{"plant maize", 10, "plant..."},
		{strings.Repeat("x", 20), 10, "xxxxxxx..."},
		{"一二三四五六七八九十百千", 10, "一二三四五六七..."},
		{"a " + strings.Repeat("x", 20), 10, "a xxxxx..."},
		{"", 10, ""},
	} {
		if got := Bounded(tc.text, tc.most); got != tc.want {
			t.Errorf("%q in %d: %q, want %q", tc.text, tc.most, got, tc.want)
		}
		for most := 4; most < 30; most++ {
			if got := Bounded(tc.text, most); utf8.RuneCountInString(got) > most {
				t.Errorf("%q in %d: %q", tc.text, most, got)
			}
		}
	}
}
