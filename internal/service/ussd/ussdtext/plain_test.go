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
