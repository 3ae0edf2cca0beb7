package calltext

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The voice begins with the first clause, and goes on in sentences.
func TestTheFirstClauseIsSpokenWhileTheRestIsWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"If it rains in the evening, take a coat, and boots. Or stay, if you can. ": {"If it rains in the evening,", "take a coat, and boots.", "Or stay, if you can."},
		"Yes, it does. ": {"Yes, it does."},
		"Yes, of course, as far as I know, it does. ":    {"Yes, of course, as far as I know,", "it does."},
		"That makes about 12,345,678,901 people. ":       {"That makes about 12,345,678,901 people."},
		"It rains and it pours and it hails — so stay. ": {"It rains and it pours and it hails —", "so stay."},
		"明日の午後から夜にかけて雨が降ると予報されていますので、傘を。":                {"明日の午後から夜にかけて雨が降ると予報されていますので、", "傘を。"},
	} {
		var s Sentences
		var got []string
		for _, letter := range text { // as it is written
			got = append(got, s.Add(string(letter))...)
		}
		if rest := s.End(); rest != "" {
			got = append(got, rest)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	var s Sentences
	if got := s.Add("If it is here at once, it is spoken at once. "); len(got) != 1 {
		t.Errorf("a sentence that is whole was cut: %q", got)
	}
}

func TestSentences(t *testing.T) {
	t.Parallel()
	var s Sentences
	var got []string
	for _, piece := range []string{"It is 3.5 degr", "ees at 9 a.m. in", " Oslo! Really", "?\n- one\n- two", " and 今日は。はい"} {
		got = append(got, s.Add(piece)...)
	}
	got = append(got, s.End())
	want := []string{"It is 3.5 degrees at 9 a.m.", "in Oslo!", "Really?", "- one", "- two and 今日は。", "はい"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Spoken("## **Bold** `code`"); got != "Bold code" {
		t.Errorf("%q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("ab .,\n。é—、")), 0, 2000, -1).Draw(t, "text")
		var s Sentences
		var all []string
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			all = append(all, s.Add(rest[:n])...)
			rest = rest[n:]
		}
		all = append(all, s.End())
		squeeze := func(v string) string { return strings.Join(strings.Fields(v), "") }
		if squeeze(strings.Join(all, "")) != squeeze(text) {
			t.Errorf("%q was spoken as %q", text, all)
		}
		for _, line := range all {
			if len(line) > 3*longestSentence {
				t.Errorf("a sentence of %d bytes", len(line))
			}
		}
	})
}
