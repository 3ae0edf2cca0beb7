package talksearch

import (
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
)

func TestExcerptShowsTheWordOnOneLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("before ", 40) + "the Äpfel\nof  autumn " + strings.Repeat("after ", 40)
	for _, c := range []struct{ text, word, want string }{
		{"", "bees", ""},
		{"The bees\n\nfly.", "bees", "The bees fly."},
		{"short", "elsewhere", "short"},
		{"Äpfel, (bees)", "bees", "Äpfel, (bees)"},
		{long, "Äpfel", "…before before before before before the Äpfel of autumn after"},
	} {
		hit := textindex.Hit{Text: c.text}
		if at := strings.Index(c.text, c.word); at >= 0 {
			hit.Words = []textindex.Place{{Span: analyse.Span{Start: at, End: at + len(c.word)}}}
		}
		got := excerpt(hit)
		if !strings.HasPrefix(got, c.want) || strings.HasSuffix(got, "…") != (c.text == long) ||
			len([]rune(got)) > excerptBefore+excerptAfter+2 {
			t.Errorf("%.20q for %q: %q", c.text, c.word, got)
		}
	}
}

func TestNamesLeadBackToMessages(t *testing.T) {
	t.Parallel()
	for _, turn := range []Turn{{"a-b", 1}, {"$a:b/c/7", 12}, {"x", 0}} {
		name := nameOf(turn, 34)
		if got, seq, ok := parseName(name); !ok || got != turn || seq != 34 || sessionOf(name) != turn.Session {
			t.Errorf("%s: %+v %d %t %q", name, got, seq, ok, sessionOf(name))
		}
	}
	for _, bad := range []string{"", "/", "a", "a/1", "a/b/c", "a/1/c"} {
		if got, _, ok := parseName(bad); ok {
			t.Errorf("%q: %+v", bad, got)
		}
	}
	if sessionOf("") != "" || sessionOf("a/1") != "" {
		t.Error("a session of no name")
	}
}

func TestLongMessagesAreCutAndWhole(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " \n", "short", strings.Repeat("wörter ", 3000), strings.Repeat("ö", 9000)} {
		all := pieces(text)
		if got := strings.Join(all, ""); got != text && strings.TrimSpace(text) != "" {
			t.Errorf("%d bytes became %d", len(text), len(got))
		}
		for _, p := range all {
			if len(p) > wholeSize {
				t.Errorf("a piece of %d bytes", len(p))
			}
		}
	}
}
