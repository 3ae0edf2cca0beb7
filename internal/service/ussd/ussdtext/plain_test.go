package ussdtext

import "testing"

func TestPlainLeavesWordsAndTakesMarks(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Plain text.":                         "Plain text.",
		"# Water\n\n**Now** and `then`":       "Water\n\nNow and then",
		"See [the guide](https://a.b/c?d=e).": "See the guide.",
		"* one\n+ two\n- three":               "- one\n- two\n- three",
		"a\n---\nb":                           "a\n\nb",
		"2 * 3 = 6, 5 > 4":                    "2 * 3 = 6, 5 > 4",
		"```go\nx := 1\n```":                  "\nx := 1\n",
	} {
		if got := Plain(in); got != want {
			t.Errorf("Plain(%q) = %q, want %q", in, got, want)
		}
	}
}

// One mark of a word processor would make all of an answer take twice the room.
func TestMarksOfWordProcessorsAreTyped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"C’est « là » – à 10\u202f000…":    `C'est " là " - à 10 000...`,
		"“Maji” ya mto ni safi • leo":      `"Maji" ya mto ni safi * leo`,
		"Ça ne change rien: l’été, forêt.": "Ça ne change rien: l’été, forêt.", // ê takes it anyway
		"هذا «جواب» – نعم":                 "هذا «جواب» – نعم",
	} {
		if got := Plain(text); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
}
