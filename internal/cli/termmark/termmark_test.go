package termmark_test

import (
	"strings"
	"testing"
	"testing/quick"

	"github.com/castalia-org/castalia/internal/cli/termmark"
)

// shown returns what a terminal is sent for a text that arrives in pieces, with
// names for the styles.
func shown(t *testing.T, pieces ...string) string {
	t.Helper()
	var out strings.Builder
	w := termmark.New(&out)
	for _, p := range pieces {
		if err := w.WriteString(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer("\x1b[1m", "<b>", "\x1b[3m", "<i>", "\x1b[4m", "<u>", "\x1b[36m", "<c>", "\x1b[0m", "</>").
		Replace(out.String())
}

func TestMarkdownBecomesTheTerminals(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain":                           "plain",
		"# Title\nText":                   "<b><u>Title</>\nText",
		"#hashtag and C#":                 "#hashtag and C#",
		"- one\n* two\n  + three":         "• one\n• two\n  • three",
		"1. first":                        "1. first",
		"> said":                          "│ said",
		"a **bold** word":                 "a <b>bold</> word",
		"*all* _of_ it":                   "<i>all</> <i>of</> it",
		"**bold *and* more**":             "<b>bold <i>and</><b> more</>",
		"2 * 3 * 4 and snake_case_name":   "2 * 3 * 4 and snake_case_name",
		"**never closed\nnext":            "<b>never closed</>\nnext",
		"run `a*b*c` now":                 "run <c>a*b*c</> now",
		`\*not\* C:\dir`:                  `*not* C:\dir`,
		"```go\nx := *p\n```\nafter":      "<c>x := *p</>\nafter",
		"see [the guide](/guides/x).":     "see <u>the guide</> (/guides/x).",
		"[https://a.b](https://a.b)":      "<u>https://a.b</>",
		"![a map](map.png)!":              "<u>a map</>!",
		"cited [1] and [2].":              "cited [1] and [2].",
		"a [broken](link":                 "a [broken](link",
		"[" + strings.Repeat("x", 600):    "[" + strings.Repeat("x", 600),
		"Kuna * moja":                     "Kuna * moja",
		"| a | b |\n|---|---|\n| 1 | 2 |": "| a | b |\n|---|---|\n| 1 | 2 |",
		"":                                "",
		"*":                               "*",
		"```":                             "",
	} {
		if got := shown(t, text); got != want {
			t.Errorf("%q\n got %q\nwant %q", text, got, want)
		}
	}
}

// However a text is cut into pieces, it looks the same in the end.
func TestPiecesMakeNoDifference(t *testing.T) {
	t.Parallel()
	const marks = "ab \n*_`#[]()!\\->é"
	same := func(picks []uint8, cuts []uint8) bool {
		var text []rune
		all := []rune(marks)
		for _, p := range picks {
			text = append(text, all[int(p)%len(all)])
		}
		var pieces []string
		rest := string(text)
		for _, c := range cuts {
			n := min(int(c)%5, len(rest))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		return shown(t, append(pieces, rest)...) == shown(t, string(text))
	}
	if err := quick.Check(same, &quick.Config{MaxCount: 5000}); err != nil {
		t.Error(err)
	}
}

// An answer is shown while it comes.
func TestWordsAreNotHeldBack(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	w := termmark.New(&out)
	for _, word := range []string{"Once ", "upon ", "a "} {
		if err := w.WriteString(word); err != nil {
			t.Fatal(err)
		}
	}
	if out.String() != "Once upon a " {
		t.Errorf("%q", out.String())
	}
}
